//! Certificate extensions that webpki doesn't expose.

use alloc::vec::Vec;

use der::asn1::{AnyRef, OctetStringRef};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

/// Returns the contents of all extensions with this identifier. Parses only the path to them (RFC 5280 §4.1);
/// webpki parses the rest, equally strictly.
pub(crate) fn values<'a>(certificate: &'a [u8], id: &[u8]) -> der::Result<Vec<&'a [u8]>> {
    let mut values = Vec::new();
    let Some(extensions) = field(certificate, EXTENSIONS)? else { return Ok(values) };
    let mut extensions = SliceReader::new(AnyRef::from_der(extensions)?.value())?;
    while !extensions.is_finished() {
        let mut extension = SliceReader::new(AnyRef::decode(&mut extensions)?.value())?;
        // `der`'s own type refuses long identifiers and large arcs.
        let found = AnyRef::decode(&mut extension)?;
        let _critical = Option::<bool>::decode(&mut extension)?;
        let value: &OctetStringRef = Decode::decode(&mut extension)?;
        if found.tag() == Tag::ObjectIdentifier && found.value() == id {
            values.push(value.as_bytes());
        }
    }
    Ok(values)
}

/// Whether the certificate is of version 1, which has no extensions.
pub(crate) fn is_version_1(certificate: &[u8]) -> der::Result<bool> {
    Ok(field(certificate, VERSION)?.is_none())
}

/// Returns the contents of a field of the TBSCertificate, by its tag.
fn field(certificate: &[u8], tag: Tag) -> der::Result<Option<&[u8]>> {
    let certificate = AnyRef::from_der(certificate)?;
    let tbs_certificate = AnyRef::decode(&mut SliceReader::new(certificate.value())?)?;
    let mut fields = SliceReader::new(tbs_certificate.value())?;
    while !fields.is_finished() {
        let field = AnyRef::decode(&mut fields)?;
        if field.tag() == tag {
            return Ok(Some(field.value()));
        }
    }
    Ok(None)
}

/// Tag of the version, explicit; its default is 1.
const VERSION: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };

/// Tag of the extensions, explicit.
const EXTENSIONS: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(3) };
