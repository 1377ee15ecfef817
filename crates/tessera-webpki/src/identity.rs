//! The peer's identity as bytes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tessera::auth::{PeerIdentity, PeerRejected};
use tessera::wire::AlertDescription;
use webpki::EndEntityCert;

use crate::alerts::reject;

/// One name in a peer's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityName<'a> {
    /// A DNS name, in lower case.
    Dns(&'a str),
    /// A URI.
    Uri(&'a str),
}

impl<'a> IdentityName<'a> {
    /// Returns the names in an identity of a [`WebPkiVerifier`](crate::WebPkiVerifier); none in any other.
    pub fn all_in(identity: &'a [u8]) -> impl Iterator<Item = Self> {
        let text = core::str::from_utf8(identity).ok().filter(|_| is_list(identity));
        text.unwrap_or_default().split(' ').filter_map(|name| {
            let dns = name.strip_prefix("dns:").map(Self::Dns);
            dns.or_else(|| name.strip_prefix("uri:").map(Self::Uri))
        })
    }
}

/// Whether it is a list of names, separated by spaces. Anything else is a subject, which may hold any bytes.
fn is_list(identity: &[u8]) -> bool {
    identity.starts_with(b"dns:") || identity.starts_with(b"uri:")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_that_looks_like_a_list_names_no_one() {
        let all = |blob: &'static [u8]| IdentityName::all_in(blob).collect::<Vec<_>>();
        assert_eq!(
            all(b"dns:a.example uri:spiffe://x/y"),
            [IdentityName::Dns("a.example"), IdentityName::Uri("spiffe://x/y")]
        );
        assert_eq!(all(b"subject:\x0c\x09 dns:admin.example"), []);
        assert_eq!(all(b"sha256:00 dns:admin.example"), []);
    }
}
