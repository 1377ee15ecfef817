//! Validity periods of certificates.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// Returns the end of a certificate's validity (DER), in seconds since the Unix epoch; `None` for anything
/// else.
pub fn expires_at(certificate: &[u8]) -> Option<u64> {
    let certificate = CertificateDer::from(certificate);
    not_after(&EndEntityCert::try_from(&certificate).ok()?)
}

/// Reads notAfter, which webpki exposes only in its error about an expired certificate; it checks validity
/// before anything else. So ask for the end of time: the answer is the very value that verification
/// enforces, where a second parser could read another one.
fn not_after(certificate: &EndEntityCert<'_>) -> Option<u64> {
    match at(certificate, u64::MAX) {
        Some(Error::CertExpired { not_after, .. }) => Some(not_after.as_secs()),
        _ => None,
    }
}

/// Asks the same for the beginning of time, about an accepted certificate: its validity is readable, and if
/// webpki accepts it then, it has always been valid.
fn not_before(certificate: &EndEntityCert<'_>) -> u64 {
    match at(certificate, 0) {
        Some(Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
        _ => 0,
    }
}

/// Returns the first error that webpki finds.
fn at(certificate: &EndEntityCert<'_>, unix: u64) -> Option<Error> {
    let time = UnixTime::since_unix_epoch(Duration::from_secs(unix));
    let usage = KeyUsage::server_auth();
    certificate.verify_for_usage(&[], &[], &[], time, usage, None, None).err()
}

/// The validity of accepted certificates, in seconds since the Unix epoch.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    /// The latest notBefore: all are valid from then on.
    pub(crate) not_before: u64,
    /// The earliest notAfter: all are valid until then.
    pub(crate) not_after: u64,
}

impl Validity {
    /// Returns `None` if the certificate's validity can't be read.
    pub(crate) fn of(certificate: &EndEntityCert<'_>) -> Option<Self> {
        let not_after = not_after(certificate)?;
        Some(Self { not_before: not_before(certificate), not_after })
    }

    /// Intersects it with the validity of this certificate (DER).
    pub(crate) fn and(self, certificate: &CertificateDer<'_>) -> Option<Self> {
        let other = Self::of(&EndEntityCert::try_from(certificate).ok()?)?;
        let not_before = self.not_before.max(other.not_before);
        Some(Self { not_before, not_after: self.not_after.min(other.not_after) })
    }
}
