//! What a sidecar needs from the machine.

use std::path::Path;

use tessera_proxy::address::DialAddress;
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
    let keys = stek.haproxy.values().map(|section| &section.keys);
    let keys = keys.chain(stek.nginx.values().flat_map(|section| &section.keys));
    for path in own.chain(keys) {
        needs.directory(path.parent().unwrap_or(Path::new("")));
    }
    for server in stek.servers() {
        needs.file(server.certificate);
        if let Some(canary) = server.canary {
            needs.file(Some(&canary.ca));
            needs.dial(&DialAddress::Tcp(canary.address));
        }
    }
    for section in stek.nginx.values() {
        needs.file(Some(&section.pid));
        needs.read_if_there(["/proc"]);
        needs.signals();
    }
    needs.confinement()
}
