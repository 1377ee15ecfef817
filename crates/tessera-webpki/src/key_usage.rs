//! The key usage of the end entity, which webpki ignores.

use der::Decode;
use der::asn1::BitStringRef;
use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;

use crate::alerts::reject;
use crate::extensions;

/// What the key of an end entity does in a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyUse {
    /// It signs CertificateVerify (RFC 8446 §4.4.2.2, §4.4.2.3): digitalSignature.
    Signing,
    /// A key of ML-KEM decapsulates (RFC 9935 §5): keyEncipherment.
    Encipherment,
    /// A key of X25519 agrees on a secret (RFC 8410 §5): keyAgreement.
    Agreement,
}

impl KeyUse {
    /// Returns its bit in the first byte of a KeyUsage (RFC 5280 §4.2.1.3).
    fn bit(self) -> u8 {
        match self {
            Self::Signing => 1 << 7,
            Self::Encipherment => 1 << 5,
            Self::Agreement => 1 << 3,
        }
    }

    fn is_missing(self) -> &'static str {
        match self {
            Self::Signing => "certificate: its key usage lacks digitalSignature",
            Self::Encipherment => "certificate: its key usage lacks keyEncipherment",
            Self::Agreement => "certificate: its key usage lacks keyAgreement",
        }
    }
}

/// Checks the key usage: a certificate that has one must allow what its key does.
pub(crate) fn check(certificate: &[u8], key_use: KeyUse) -> Result<(), PeerRejected> {
    match allows(certificate, key_use) {
        Ok(true) => Ok(()),
        Ok(false) => Err(reject(AlertDescription::UNSUPPORTED_CERTIFICATE, key_use.is_missing())),
        // webpki has already parsed it, equally strictly.
        Err(_) => Err(reject(
            AlertDescription::BAD_CERTIFICATE,
            "certificate: its extensions are malformed",
        )),
    }
}

fn allows(certificate: &[u8], key_use: KeyUse) -> der::Result<bool> {
    for usage in extensions::values(certificate, KEY_USAGE)? {
        let usage = BitStringRef::from_der(usage)?;
        let is_allowed = usage.raw_bytes().first().is_some_and(|byte| byte & key_use.bit() != 0);
        if !is_allowed {
            return Ok(false);
        }
    }
    Ok(true)
}

/// id-ce-keyUsage, 2.5.29.15.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
