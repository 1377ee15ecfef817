//! What a SEPP still needs of the machine.

use std::path::Path;

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::Configuration;

/// The directories of all files that the configuration names, where they can be replaced and loaded again, and of the
/// state; names; and all ports, since network functions are at any.
pub(crate) fn of(configuration: &Configuration, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    needs.names();
    needs.all_ports();
    let listen = &configuration.listen;
    let addresses = [&listen.sbi, &listen.n32c, &listen.n32f];
    let admin = configuration.process.admin.iter();
    addresses.into_iter().chain(admin).for_each(|address| needs.listen(address));
    let local = &configuration.local;
    needs.file(Some(&local.certificate));
    let sbi = &configuration.sbi;
    let files = [&local.key, &local.ocsp, &sbi.certificate, &sbi.key, &sbi.ca];
    files.into_iter().for_each(|path| needs.file(path.as_deref()));
    for anchor in configuration.trust.values() {
        needs.file(Some(&anchor.roots));
        anchor.crl.iter().for_each(|path| needs.file(Some(path)));
    }
    configuration.guard.hidden_names_key.iter().for_each(|source| needs.key(source));
    let tickets = &configuration.tickets;
    if let Some(directory) = &tickets.state {
        let witness = tickets.state_witness.as_deref();
        needs.state(directory, tickets.state_key.as_ref(), witness);
    }
    if let Some(fleet) = &tickets.fleet {
        let etcd = &fleet.etcd;
        let files = [&etcd.ca, &etcd.certificate, &etcd.key, &fleet.epoch_keys];
        files.into_iter().for_each(|path| needs.file(path.as_deref()));
        needs.key(&fleet.ring_key);
        if let Some(sites) = &fleet.sites {
            needs.listen(&sites.listen);
            let files = [Some(sites.ca.as_path()), Some(&sites.certificate), sites.key.as_deref()];
            files.into_iter().for_each(|path| needs.file(path));
        }
    }
    needs.confinement()
}
