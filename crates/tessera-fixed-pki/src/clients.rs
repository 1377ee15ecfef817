//! Identities of clients.

use alloc::vec::Vec;

use tessera::auth::{PeerIdentity, joined};

use crate::certificate::Certificate;
use crate::defect::Defect;
use crate::names::{AlternativeName, each, is_dns_name};

/// Builds a client's identity from all of its names, as `tessera_webpki::WebPkiVerifier` does: DNS names and URIs, sorted,
/// separated by spaces; or else the subject.
pub(crate) fn identity(certificate: &Certificate<'_>) -> Result<Vec<u8>, Defect> {
    let mut names: Vec<Name<'_>> = Vec::new();
    let mut len = 0;
    each(certificate.extensions.names.unwrap_or_default(), |name| {
        let name = match name {
            AlternativeName::Dns(name) if is_dns_name(name) => (DNS, name),
            // RFC 3986 §2 allows neither spaces nor control characters; with them, one URI could pass for several names.
            AlternativeName::Uri(uri) if !uri.iter().all(u8::is_ascii_graphic) => {
                return Err(Defect::Malformed);
            }
            AlternativeName::Uri(uri) => (URI, uri),
            _ => return Ok(()),
        };
        if let Err(at) = names.binary_search_by(|other| written(*other).cmp(written(name))) {
            // What a client sends is bounded before it is kept.
            len += name.0.len() + name.1.len() + 1;
            check_len(len - 1)?;
            names.try_reserve(1).map_err(|_| Defect::OutOfMemory)?;
            names.insert(at, name);
        }
        Ok(())
    })?;
    if names.is_empty() {
        let subject = match certificate.subject {
            [] => return Err(Defect::NoNames),
            subject => [&b"subject:"[..], subject],
        };
        check_len(subject.iter().map(|part| part.len()).sum())?;
        return joined(&subject).map_err(|_| Defect::OutOfMemory);
    }
    let mut identity = Vec::new();
    identity.try_reserve_exact(len).map_err(|_| Defect::OutOfMemory)?;
    for name in names {
        identity.extend(written(name));
        identity.push(b' ');
    }
    identity.pop();
    Ok(identity)
}

/// A name's kind, and the name as the certificate has it.
type Name<'a> = (&'static [u8], &'a [u8]);

const DNS: &[u8] = b"dns:";
const URI: &[u8] = b"uri:";

/// Returns a name as an identity has it. Case doesn't distinguish DNS names (RFC 4343).
fn written((kind, name): Name<'_>) -> impl Iterator<Item = u8> {
    let byte = move |byte: &u8| if kind == DNS { byte.to_ascii_lowercase() } else { *byte };
    kind.iter().chain(name).map(byte)
}

/// Identities are never truncated: two clients must not share one.
fn check_len(len: usize) -> Result<(), Defect> {
    if len > PeerIdentity::MAX_LEN { Err(Defect::LongNames) } else { Ok(()) }
}
