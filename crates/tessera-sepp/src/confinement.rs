//! What a running SEPP needs of the machine.

use std::path::Path;

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::Configuration;

/// Returns what must stay accessible: the directories of all files that the configuration names, so that files can be
/// replaced and reloaded, and of the state; name resolution; and all ports, since network functions may use any.
pub(crate) fn of(configuration: &Configuration, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    needs.names();
    needs.all_ports();
    let listen = &configuration.listen;
    let addresses = [&listen.sbi, &listen.n32c, &listen.n32f];
    let admin = configuration.process.admin.iter();
    addresses.into_iter().chain(admin).for_each(|address| needs.listen(address));
    let (local, sbi) = (&configuration.local, &configuration.sbi);
    needs.files([&local.certificate]);
    needs.files(
        [&local.key, &local.ocsp, &sbi.certificate, &sbi.key, &sbi.ca].into_iter().flatten(),
    );
    for anchor in configuration.trust.values() {
        needs.files([&anchor.roots].into_iter().chain(&anchor.crl));
    }
    configuration.guard.hidden_names_key.iter().for_each(|source| needs.key(source));
    needs.stores(&configuration.tickets.stores());
    needs.confinement()
}
