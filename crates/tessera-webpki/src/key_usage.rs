//! The key usage of the end entity, which webpki passes over.

use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};
use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;

use crate::alerts::reject;

/// RFC 8446 §4.4.2.2, §4.4.2.3: a certificate that has a key usage must allow digitalSignature, since
/// CertificateVerify is all that its key does in TLS 1.3.
pub(crate) fn check(certificate: &[u8]) -> Result<(), PeerRejected> {
    match allows_signatures(certificate) {
        Ok(true) => Ok(()),
        Ok(false) => Err(reject(
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            "certificate: its key usage lacks digitalSignature",
        )),
        // webpki read it before, and reads it in the same strict way.
        Err(_) => Err(reject(
            AlertDescription::BAD_CERTIFICATE,
            "certificate: its extensions are malformed",
        )),
    }
}

/// Only the way to the extensions is read (RFC 5280 §4.1); the rest is webpki's.
fn allows_signatures(certificate: &[u8]) -> der::Result<bool> {
    let certificate = AnyRef::from_der(certificate)?;
    let tbs_certificate = AnyRef::decode(&mut SliceReader::new(certificate.value())?)?;
    let mut fields = SliceReader::new(tbs_certificate.value())?;
    while !fields.is_finished() {
        let field = AnyRef::decode(&mut fields)?;
        if field.tag() == EXTENSIONS {
            return extensions_allow_signatures(AnyRef::from_der(field.value())?.value());
        }
    }
    Ok(true)
}

fn extensions_allow_signatures(extensions: &[u8]) -> der::Result<bool> {
    let mut extensions = SliceReader::new(extensions)?;
    while !extensions.is_finished() {
        let mut extension = SliceReader::new(AnyRef::decode(&mut extensions)?.value())?;
        // Not as `der`'s own type, which refuses long identifiers and large arcs.
        let id = AnyRef::decode(&mut extension)?;
        let _critical = Option::<bool>::decode(&mut extension)?;
        let value: &OctetStringRef = Decode::decode(&mut extension)?;
        if id.tag() == Tag::ObjectIdentifier && id.value() == KEY_USAGE {
            let usage = BitStringRef::from_der(value.as_bytes())?;
            // RFC 5280 §4.2.1.3: the first bit.
            let digital_signature = usage.raw_bytes().first().is_some_and(|byte| byte & 0x80 != 0);
            if !digital_signature {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Extensions are the field with this tag, explicit.
const EXTENSIONS: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(3) };

/// id-ce-keyUsage, 2.5.29.15.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
