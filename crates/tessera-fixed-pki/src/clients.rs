//! Identities of clients.

use alloc::vec::Vec;

use tessera::auth::PeerIdentity;

use crate::certificate::Certificate;
use crate::defect::Defect;
use crate::names::{AlternativeName, each, is_dns_name};

/// Builds a client's identity from all of its names, as `tessera_webpki::WebPkiVerifier` does: DNS names and URIs, sorted,
/// separated by spaces; or else the subject.
pub(crate) fn identity(certificate: &Certificate<'_>) -> Result<Vec<u8>, Defect> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    let mut len = 0;
    each(certificate.extensions.names.unwrap_or_default(), |name| {
        let name = match name {
            AlternativeName::Dns(name) if is_dns_name(name) => {
                [b"dns:", &name.to_ascii_lowercase()[..]].concat()
            }
            // RFC 3986 §2 allows neither spaces nor control characters; with them, one URI could pass for several names.
            AlternativeName::Uri(uri) if !uri.iter().all(u8::is_ascii_graphic) => {
                return Err(Defect::Malformed);
            }
            AlternativeName::Uri(uri) => [b"uri:", uri].concat(),
            _ => return Ok(()),
        };
        // What a client sends is bounded before it is kept.
        let at = names.partition_point(|other| *other < name);
        if names.get(at) != Some(&name) {
            len += name.len() + 1;
            names.insert(at, name);
        }
        if len > PeerIdentity::MAX_LEN + 1 { Err(Defect::LongNames) } else { Ok(()) }
    })?;
    let identity = match (names.is_empty(), certificate.subject) {
        (false, _) => names.join(&b' '),
        (true, []) => return Err(Defect::NoNames),
        (true, subject) => [b"subject:", subject].concat(),
    };
    // Never truncated: two clients must not share an identity.
    if identity.len() > PeerIdentity::MAX_LEN { Err(Defect::LongNames) } else { Ok(identity) }
}
