//! What a proxy needs from the machine.

use std::path::Path;

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::EdgeConfig;

/// Returns the access that a configuration needs: the directories of its files, name resolution, and all ports, since the
/// other proxies and instances of services may use any.
pub(crate) fn of(edge: &EdgeConfig, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    needs.names();
    needs.all_ports();
    let (proxy, peers) = (&edge.proxy, &edge.peers);
    let listeners = edge.process.admin.iter().chain(&proxy.listen).chain([&peers.listen]);
    listeners.for_each(|it| needs.listen(it));
    if let Some(envoy) = &edge.ext_authz {
        needs.directory(envoy.socket.parent().unwrap_or(Path::new("")));
    }
    needs.key(&edge.pool.key);
    edge.envoys.iter().for_each(|envoys| needs.key(&envoys.key));
    edge.pool.etcd.iter().for_each(|etcd| needs.etcd(etcd));
    if let Some(path) = &edge.pool.file {
        needs.directory(path.parent().unwrap_or(Path::new("")));
    }
    needs.files([&proxy.certificate, &peers.certificate, &peers.ca]);
    needs.files([&proxy.key, &peers.key, &edge.clients.ca].into_iter().flatten());
    if let Some(signer) = &proxy.signer {
        needs.files([&signer.ca, &signer.certificate].into_iter().chain(&signer.key));
    }
    if let Some(sites) = &proxy.one_time_keys {
        needs.files([&sites.ca, &sites.certificate].into_iter().chain(&sites.key));
        needs.listen(&sites.listen);
    }
    needs.files(edge.service.values().filter_map(|section| section.ca.as_ref()));
    needs.confinement()
}
