//! The output of OpenSSL's programs, in all versions.

use tessera_test_peers::{PATIENCE, Process};

use crate::pki::KeyKind;

/// Waits until `s_client` or `s_server` reports a signature by a key of this kind: OpenSSL 3.0 prints the kind, 3.5 the
/// scheme.
#[track_caller]
pub fn says_signature(openssl: &Process, kind: KeyKind) {
    let names = match kind {
        KeyKind::P256 => ["ECDSA", "ecdsa_secp256r1_sha256"],
        KeyKind::P384 => ["ECDSA", "ecdsa_secp384r1_sha384"],
        KeyKind::P521 => ["ECDSA", "ecdsa_secp521r1_sha512"],
        KeyKind::Ed25519 => ["ed25519"; 2],
        KeyKind::Rsa => ["RSA-PSS", "rsa_pss_rsae_sha256"],
        KeyKind::RsaPss => ["RSA-PSS", "rsa_pss_pss_sha256"],
        KeyKind::RsaPssSha384 => ["RSA-PSS", "rsa_pss_pss_sha384"],
        KeyKind::MlDsa44 => ["mldsa44"; 2],
        KeyKind::MlDsa65 => ["mldsa65"; 2],
    };
    let lines = names.map(|name| format!("Peer signature type: {name}\n"));
    openssl.wait_for(&format!("to name a signature of {kind:?}"), PATIENCE, || {
        let said = openssl.output();
        lines.iter().any(|line| said.contains(line)).then_some(())
    });
}
