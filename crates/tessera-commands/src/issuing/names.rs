//! The names in certificates, from options.

use std::net::IpAddr;

use pki_types::DnsName;
use tessera_kit::ProgramError;
use x509_cert::name::Name;

use tessera_kit::x509::common_name;

/// Returns the name as a certificate has it.
pub(super) fn checked_name(name: &str) -> Result<String, ProgramError> {
    let host = name.strip_prefix("*.").unwrap_or(name);
    if name.parse::<IpAddr>().is_ok() || DnsName::try_from(host).is_ok() {
        return Ok(name.to_owned());
    }
    Err(ProgramError::settings(format!(
        "--name {name:?}: neither a DNS name nor an address; write others in their ASCII form, xn--..."
    )))
}

/// Returns the first name as the subject, if it isn't too long for one (RFC 5280, ub-common-name).
pub(super) fn subject(names: &[String]) -> Result<Name, ProgramError> {
    match names.first() {
        Some(first) if first.len() <= MAX_COMMON_NAME => named(first),
        _ => Ok(Name::default()),
    }
}

/// Returns a name of 1 to 64 characters as a commonName.
pub(super) fn named(name: &str) -> Result<Name, ProgramError> {
    if name.is_empty() || name.chars().count() > MAX_COMMON_NAME {
        return Err(ProgramError::settings("--name: 1 to 64 characters"));
    }
    common_name(name).map_err(|error| ProgramError::failed("--name", error))
}

/// ub-common-name (RFC 5280 §A.1), in characters.
const MAX_COMMON_NAME: usize = 64;
