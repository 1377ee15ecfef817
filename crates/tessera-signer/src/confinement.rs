//! What a signer needs from the machine.

use std::path::Path;

use tessera_proxy::address::ListenAddress;
use tessera_proxy::confine::{Confinement, Needs};

use crate::config::Signer;

/// Returns the access that a configuration needs: the directories of its files, and the ports where it listens. It connects to
/// nothing.
pub(crate) fn of(signer: &Signer, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    signer.process.admin.iter().for_each(|address| needs.listen(address));
    let section = &signer.signer;
    needs.listen(&ListenAddress::Tcp(section.listen));
    needs.files([&section.certificate, &section.ca].into_iter().chain(&section.key));
    needs.files(signer.key.values().flat_map(|key| key.certificate.iter().chain(&key.key)));
    needs.confinement()
}
