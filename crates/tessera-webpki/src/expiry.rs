//! From when until when certificates are valid.

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage};

/// The end of a certificate's validity (DER), in seconds since the Unix epoch; `None` of what is no certificate.
pub fn expires_at(certificate: &[u8]) -> Option<u64> {
    let certificate = CertificateDer::from(certificate);
    not_after(&EndEntityCert::try_from(&certificate).ok()?)
}

/// webpki tells a notAfter only in its verdict on an expired certificate, and looks at validity
/// before anything else. So the question is asked for the end of time: the answer is the very value
/// that verification enforces, where a second parser could read another one.
fn not_after(certificate: &EndEntityCert<'_>) -> Option<u64> {
    match at(certificate, u64::MAX) {
        Some(Error::CertExpired { not_after, .. }) => Some(not_after.as_secs()),
        _ => None,
    }
}

/// The same question for the beginning of time, about a certificate that was accepted: its validity can be
/// read, and if webpki has nothing against it then, it is valid since then.
fn not_before(certificate: &EndEntityCert<'_>) -> u64 {
    match at(certificate, 0) {
        Some(Error::CertNotValidYet { not_before, .. }) => not_before.as_secs(),
        _ => 0,
    }
}

/// What webpki finds first.
fn at(certificate: &EndEntityCert<'_>, unix: u64) -> Option<Error> {
    let time = UnixTime::since_unix_epoch(Duration::from_secs(unix));
    let usage = KeyUsage::server_auth();
    certificate.verify_for_usage(&[], &[], &[], time, usage, None, None).err()
}

/// When certificates that were accepted are valid, in seconds since the Unix epoch.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    /// Since then all of them are: the latest notBefore.
    pub(crate) not_before: u64,
    /// Until then: the earliest notAfter.
    pub(crate) not_after: u64,
}

impl Validity {
    /// `None` if the certificate doesn't tell.
    pub(crate) fn of(certificate: &EndEntityCert<'_>) -> Option<Self> {
        let not_after = not_after(certificate)?;
        Some(Self { not_before: not_before(certificate), not_after })
    }

    /// Of these certificates together, and this one (DER).
    pub(crate) fn and(self, certificate: &CertificateDer<'_>) -> Option<Self> {
        let other = Self::of(&EndEntityCert::try_from(certificate).ok()?)?;
        let not_before = self.not_before.max(other.not_before);
        Some(Self { not_before, not_after: self.not_after.min(other.not_after) })
    }
}
