//! Which certificates this side accepts, as stated in ClientHello and CertificateRequest.

use alloc::vec::Vec;

use super::verifier::PeerVerifier;
use crate::error::{Error, require};
use crate::wire::{ExtensionType, Grease, SignatureScheme, write_certificate_criteria};

/// Writes the extensions of a ClientHello or CertificateRequest that state it.
pub(super) fn write_criteria(
    out: &mut Vec<u8>,
    verifier: &dyn PeerVerifier,
    grease: Option<Grease>,
) {
    let (schemes, chain) = (verifier.schemes().iter().copied(), chain_schemes(verifier));
    let schemes = schemes.filter(|scheme| scheme.is_linked());
    let grease = grease.map(Grease::scheme);
    write_certificate_criteria(out, schemes, chain, verifier.authorities(), grease);
}

/// Returns whether [`write_criteria`] writes this extension.
pub(super) fn criteria_have(typ: ExtensionType, verifier: &dyn PeerVerifier) -> bool {
    match typ {
        ExtensionType::SIGNATURE_ALGORITHMS => true,
        ExtensionType::SIGNATURE_ALGORITHMS_CERT => !chain_schemes(verifier).is_empty(),
        ExtensionType::CERTIFICATE_AUTHORITIES => !verifier.authorities().is_empty(),
        _ => false,
    }
}

/// RFC 8446 §4.2.3: an end with the same policy in both cases may omit the second list.
fn chain_schemes(verifier: &dyn PeerVerifier) -> &[SignatureScheme] {
    let chain = verifier.chain_schemes();
    if chain == verifier.schemes() { &[] } else { chain }
}

/// Checks that the criteria fit their messages.
pub(super) fn check_criteria(verifier: &dyn PeerVerifier) -> Result<(), Error> {
    require(
        verifier.chain_schemes().iter().all(|scheme| scheme.kem().is_none()),
        "verifier: chain_schemes sign certificates, which a KEM can't",
    )?;
    let names = verifier.authorities();
    let len: usize = names.iter().map(|name| 2 + name.len()).sum();
    require(
        len <= MAX_AUTHORITIES && !names.iter().any(Vec::is_empty),
        "verifier: names of authorities must not be empty, and must have at most 16 KiB in all",
    )
}

/// The longest list of names, in bytes: a ClientHello with it stays far below what servers read.
const MAX_AUTHORITIES: usize = 16 * 1024;
