//! What a ring compares of its members among Envoys.

use std::collections::BTreeMap;

use tessera_ring::MemberTraits;
use tessera_vault::TicketKeyDomain;
use tessera_webpki::{issuers, subject_names};

use crate::context::SessionContextError;

/// Returns what a member with this certificate (DER) must have in common with the pool's other members: names in the same
/// order, and the issuer. Otherwise their tickets don't cross, in silence.
///
/// # Errors
/// Returns an error if the certificate can't be parsed, or has no names.
pub fn member_traits(
    domain: &TicketKeyDomain,
    certificate: &[u8],
) -> Result<MemberTraits, SessionContextError> {
    let names = subject_names(certificate)?;
    if names.is_empty() {
        return Err(SessionContextError::NoNames);
    }
    // Readable if they are text, and distinct in any case.
    let shown = |name: &Vec<u8>| name.escape_ascii().to_string();
    let names: Vec<_> = names.iter().map(shown).collect();
    let issuers = issuers(&[certificate])?;
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let values = BTreeMap::from([
        ("names of the certificate".to_owned(), names.join(" ")),
        ("issuer of the certificate".to_owned(), issuers.iter().map(hex).collect()),
    ]);
    Ok(MemberTraits { kind: format!("{} {}", domain.kind, domain.name), values })
}
