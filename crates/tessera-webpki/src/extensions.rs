//! The extensions of a certificate that webpki doesn't show.

use alloc::vec::Vec;

use der::asn1::{AnyRef, OctetStringRef};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};

/// The contents of all extensions with this identifier. Only the way to them is read (RFC 5280 §4.1); the
/// rest is webpki's, in the same strict way.
pub(crate) fn values<'a>(certificate: &'a [u8], id: &[u8]) -> der::Result<Vec<&'a [u8]>> {
    let mut values = Vec::new();
    let Some(extensions) = field(certificate, EXTENSIONS)? else { return Ok(values) };
    let mut extensions = SliceReader::new(AnyRef::from_der(extensions)?.value())?;
    while !extensions.is_finished() {
        let mut extension = SliceReader::new(AnyRef::decode(&mut extensions)?.value())?;
        // Not as `der`'s own type, which refuses long identifiers and large arcs.
        let found = AnyRef::decode(&mut extension)?;
        let _critical = Option::<bool>::decode(&mut extension)?;
        let value: &OctetStringRef = Decode::decode(&mut extension)?;
        if found.tag() == Tag::ObjectIdentifier && found.value() == id {
            values.push(value.as_bytes());
        }
    }
    Ok(values)
}

/// Whether it is of version 1, which has no extensions.
pub(crate) fn is_version_1(certificate: &[u8]) -> der::Result<bool> {
    Ok(field(certificate, VERSION)?.is_none())
}

/// The contents of a field of the TBSCertificate, by its tag.
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

/// The version is the field with this tag, explicit; its default is 1.
const VERSION: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(0) };

/// Extensions are the field with this tag, explicit.
const EXTENSIONS: Tag = Tag::ContextSpecific { constructed: true, number: TagNumber(3) };
