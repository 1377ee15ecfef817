//! The peer's identity as bytes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tessera::auth::{PeerIdentity, PeerRejected};
use tessera::wire::AlertDescription;
use webpki::EndEntityCert;

use crate::alerts::reject;

/// Builds a peer's identity from all of its names; [`WebPkiVerifier`](crate::WebPkiVerifier) documents the
/// format.
pub(crate) fn of_names(certificate: &EndEntityCert<'_>) -> Result<Vec<u8>, PeerRejected> {
    let blob = match names(certificate)? {
        Some(names) => names.into_bytes(),
        None if certificate.subject().is_empty() => {
            return Err(reject(
                AlertDescription::UNSUPPORTED_CERTIFICATE,
                "the certificate has no names",
            ));
        }
        None => [b"subject:", certificate.subject()].concat(),
    };
    // Never truncate: two clients must not share an identity.
    if blob.len() > PeerIdentity::MAX_LEN {
        return Err(reject(
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            "the certificate's names are too long for an identity",
        ));
    }
    Ok(blob)
}

/// Returns the DNS names and URIs, or `None` if there are none.
fn names(certificate: &EndEntityCert<'_>) -> Result<Option<String>, PeerRejected> {
    let mut names: Vec<String> = certificate
        .valid_dns_names()
        .map(|name| format!("dns:{}", name.to_ascii_lowercase()))
        .collect();
    for uri in certificate.valid_uri_names() {
        // RFC 3986 §2 allows neither spaces nor control characters; with them, one URI could pass for several
        // names.
        if !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(reject(
                AlertDescription::BAD_CERTIFICATE,
                "the certificate has a malformed URI",
            ));
        }
        names.push(format!("uri:{uri}"));
    }
    // A renewed certificate may list the same names in another order.
    names.sort_unstable();
    names.dedup();
    Ok((!names.is_empty()).then(|| names.join(" ")))
}
