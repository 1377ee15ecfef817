//! Two operators, each with its own authority and a certificate for its end of N32.

use tessera_pki::Authority;
use tessera_proxy::demo::{HOME, OperatorIdentity, VISITED};
use tessera_test_peers::Directory;

/// The credential of an operator on N32: files and bytes.
pub(crate) struct Credential {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) ca_der: Vec<u8>,
    pub(crate) certificate_der: Vec<u8>,
    pub(crate) key_der: Vec<u8>,
}

/// Both operators' files, for ECDSA on P-256 (TS 33.310 §6.1.3c), removed with this value.
pub(crate) struct Files {
    pub(crate) visited: Credential,
    pub(crate) home: Credential,
    // Removed with them.
    _directory: Directory,
}

impl Files {
    pub(crate) fn new() -> Self {
        let directory = Directory::new();
        let [visited, home] = [VISITED, HOME].map(|operator| credential(operator, &directory));
        Self { visited, home, _directory: directory }
    }
}

fn credential(operator: OperatorIdentity, directory: &Directory) -> Credential {
    let OperatorIdentity { name, fqdn, .. } = operator;
    let ca = Authority::new(&format!("{name}'s root"));
    let leaf = ca.issue_with(&[fqdn], |it| it.use_authority_key_identifier_extension = true);
    Credential {
        ca: directory.write(&format!("{name}-ca.pem"), ca.pem()),
        certificate: directory.write(&format!("{name}.pem"), &leaf.pem),
        key: directory.write_private(&format!("{name}.key"), leaf.key_pem()),
        ca_der: ca.der(),
        certificate_der: leaf.der(),
        key_der: leaf.key_der(),
    }
}
