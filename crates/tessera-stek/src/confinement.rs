//! What a sidecar needs from the machine.

use std::path::Path;

use tessera_proxy::address::{DialAddress, ListenAddress};
use tessera_proxy::confine::{Confinement, Needs};

use crate::config::Stek;

/// Returns the access that a configuration needs: the directories of its files, those written to, the ports; and for nginx
/// the list of processes, and signals.
pub(crate) fn of(stek: &Stek, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    stek.process.admin.iter().for_each(|address| needs.listen(address));
    let ring = &stek.ring;
    needs.key(&ring.key);
    ring.etcd.iter().for_each(|etcd| needs.etcd(etcd));
    let own = ring.file.iter().chain(&ring.cache);
    let sockets = stek.envoy.values().map(|section| &section.socket);
    let keys = stek.servers().flat_map(|section| section.server.key_files());
    for path in own.chain(sockets).chain(keys) {
        needs.directory(path.parent().unwrap_or(Path::new("")));
    }
    for server in stek.servers() {
        needs.file(server.certificate);
        if let Some(canary) = server.canary {
            needs.file(Some(&canary.ca));
            needs.dial(&DialAddress::Tcp(canary.address));
        }
    }
    if stek.files.values().any(|section| !section.command.is_empty()) {
        needs.programs();
        needs.signals();
        // Those of the programs aren't known.
        needs.all_ports();
    }
    if let Some(serve) = &ring.serve {
        needs.files([&serve.certificate, &serve.ca].into_iter().chain(&serve.key));
        needs.listen(&ListenAddress::Tcp(serve.listen));
    }
    for section in stek.nginx.values() {
        needs.file(Some(&section.pid));
        needs.read_if_there(["/proc"]);
        needs.signals();
    }
    needs.confinement()
}
