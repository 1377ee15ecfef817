//! The key usage of the end entity, which webpki ignores.

use der::Decode;
use der::asn1::BitStringRef;
use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;

use crate::alerts::reject;
use crate::extensions;

/// Checks the key usage. RFC 8446 §4.4.2.2, §4.4.2.3: a certificate that has one must allow
/// digitalSignature, since in TLS 1.3 its key only signs CertificateVerify.
pub(crate) fn check(certificate: &[u8]) -> Result<(), PeerRejected> {
    match allows_signatures(certificate) {
        Ok(true) => Ok(()),
        Ok(false) => Err(reject(
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            "certificate: its key usage lacks digitalSignature",
        )),
        // webpki has already parsed it, equally strictly.
        Err(_) => Err(reject(
            AlertDescription::BAD_CERTIFICATE,
            "certificate: its extensions are malformed",
        )),
    }
}

fn allows_signatures(certificate: &[u8]) -> der::Result<bool> {
    for usage in extensions::values(certificate, KEY_USAGE)? {
        let usage = BitStringRef::from_der(usage)?;
        // RFC 5280 §4.2.1.3: the first bit.
        let digital_signature = usage.raw_bytes().first().is_some_and(|byte| byte & 0x80 != 0);
        if !digital_signature {
            return Ok(false);
        }
    }
    Ok(true)
}

/// id-ce-keyUsage, 2.5.29.15.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
