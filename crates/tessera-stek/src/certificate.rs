//! What servers of a pool must have in common in their certificates.

use tessera_kit::hex;
use tessera_webpki::{dns_names, issuers};

/// Returns the DNS names of a certificate (DER), and its issuer's name as hexadecimal DER; `None` if it can't be read or
/// has no DNS names.
pub(crate) fn names_and_issuer(leaf: &[u8]) -> Option<(String, String)> {
    let names = dns_names(leaf).ok().filter(|names| !names.is_empty())?;
    let issuer = issuers(&[leaf]).ok()?.pop()?;
    Some((names.join(" "), hex::encode(&issuer)))
}
