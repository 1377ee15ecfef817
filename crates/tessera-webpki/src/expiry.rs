//! From when until when certificates are valid.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// The end of a certificate's validity (DER), in seconds since the Unix epoch; `None` of what is no certificate.
pub fn expires_at(certificate: &[u8]) -> Option<u64> {
    not_after(&CertificateDer::from(certificate))
}

/// webpki tells a notAfter only in its verdict on an expired certificate, and looks at validity
/// before anything else. So the question is asked for the end of time: the answer is the very value
/// that verification enforces, where a second parser could read another one.
pub(crate) fn not_after(certificate: &CertificateDer<'_>) -> Option<u64> {
    match at(certificate, u64::MAX) {
        Some(Error::CertExpired { not_after, .. }) => Some(not_after.as_secs()),
        _ => None,
    }
}

/// The same question for the beginning of time, about a certificate that was accepted: its validity can be
/// read, and if webpki has nothing against it then, it is valid since then.
#[cfg(feature = "std")]
pub(crate) fn not_before(certificate: &CertificateDer<'_>) -> u64 {
    match at(certificate, 0) {
        Some(Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
        _ => 0,
    }
}

/// What webpki finds first.
fn at(certificate: &CertificateDer<'_>, unix: u64) -> Option<Error> {
    let time = UnixTime::since_unix_epoch(Duration::from_secs(unix));
    let certificate = EndEntityCert::try_from(certificate).ok()?;
    let usage = KeyUsage::server_auth();
    certificate.verify_for_usage(&[], &[], &[], time, usage, None, None).err()
}
