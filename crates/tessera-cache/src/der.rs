//! As much of DER as it takes to find a certificate's issuer.

use crate::bytes::Bytes;

pub(crate) const INTEGER: u8 = 2;
pub(crate) const OBJECT_IDENTIFIER: u8 = 6;
pub(crate) const SEQUENCE: u8 = 0x30;
/// The version of a certificate: context-specific, constructed, 0.
const VERSION: u8 = 0xa0;

/// The contents of the next element, if it has this tag.
pub(crate) fn element<'a>(reader: &mut Bytes<'a>, tag: u8) -> Option<&'a [u8]> {
    let mut ahead = *reader;
    if ahead.u8()? != tag {
        return None;
    }
    let len = match ahead.u8()? {
        short @ 0..=0x7f => usize::from(short),
        // Four bytes of length are more than any message has.
        long @ 0x81..=0x84 => {
            let bytes = ahead.take(usize::from(long & 0x7f))?;
            bytes.iter().fold(0usize, |len, byte| len << 8 | usize::from(*byte))
        }
        _ => return None,
    };
    let contents = ahead.take(len)?;
    *reader = ahead;
    Some(contents)
}

/// The name of a certificate's issuer (RFC 5280 §4.1.2.4), DER without its frame; empty if there is none,
/// as in a raw public key.
pub(crate) fn issuer(certificate: &[u8]) -> &[u8] {
    find_issuer(certificate).unwrap_or_default()
}

fn find_issuer(certificate: &[u8]) -> Option<&[u8]> {
    let mut body = Bytes(element(&mut Bytes(certificate), SEQUENCE)?);
    let mut fields = Bytes(element(&mut body, SEQUENCE)?);
    let _version = element(&mut fields, VERSION);
    let _serial = element(&mut fields, INTEGER)?;
    let _algorithm = element(&mut fields, SEQUENCE)?;
    element(&mut fields, SEQUENCE)
}
