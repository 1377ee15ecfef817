//! When a verified path expires.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage, VerifiedPath};

/// The earliest notAfter of the certificates of the path, in seconds since the Unix epoch; `None`
/// if one of them does not tell. The anchor has none: it is a name and a key.
pub(crate) fn earliest(path: &VerifiedPath<'_>) -> Option<u64> {
    let mut first = not_after(&path.end_entity().der())?;
    for certificate in path.intermediate_certificates() {
        first = first.min(not_after(&certificate.der())?);
    }
    Some(first)
}

/// The end of a certificate's validity (DER), in seconds since the Unix epoch; `None` of what is no certificate.
pub fn expires_at(certificate: &[u8]) -> Option<u64> {
    not_after(&CertificateDer::from(certificate))
}

/// webpki tells a notAfter only in its verdict on an expired certificate, and looks at validity
/// before anything else. So the question is asked for the end of time: the answer is the very value
/// that verification enforces, where a second parser could read another one.
pub(crate) fn not_after(certificate: &CertificateDer<'_>) -> Option<u64> {
    let end_of_time = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let usage = KeyUsage::server_auth();
    match certificate.verify_for_usage(&[], &[], &[], end_of_time, usage, None, None) {
        Err(Error::CertExpired { not_after, .. }) => Some(not_after.as_secs()),
        _ => None,
    }
}
