//! Elements of DER (ITU-T X.690), read in place by RustCrypto's strict reader, which signatures with P-256 need as well.

use der::asn1::AnyRef;
use der::{Decode, Tagged};
pub(crate) use der::{Tag, TagNumber};

use crate::defect::Defect;

/// The elements that follow each other in these bytes.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a>(&'a [u8]);

/// The longest contents of an element, in bytes: webpki reads none that are longer.
const LONGEST: usize = 0xfffe;

impl<'a> Elements<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the next element; returns its tag and its contents.
    pub(crate) fn any(&mut self) -> Result<(Tag, &'a [u8]), Defect> {
        let (element, rest) = AnyRef::from_der_partial(self.0).map_err(|_| Defect::Malformed)?;
        if element.value().len() > LONGEST {
            return Err(Defect::Malformed);
        }
        self.0 = rest;
        Ok((element.tag(), element.value()))
    }

    /// Reads the next element, which must have this tag; returns its contents.
    pub(crate) fn expect(&mut self, tag: Tag) -> Result<&'a [u8], Defect> {
        match self.any()? {
            (found, contents) if found == tag => Ok(contents),
            _ => Err(Defect::Malformed),
        }
    }

    /// The same, returning the whole element, and then its contents.
    pub(crate) fn expect_whole(&mut self, tag: Tag) -> Result<(&'a [u8], &'a [u8]), Defect> {
        let before = self.0;
        let contents = self.expect(tag)?;
        let whole = before.get(..before.len() - self.0.len()).ok_or(Defect::Malformed)?;
        Ok((whole, contents))
    }

    /// Reads the next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: Tag) -> Result<Option<&'a [u8]>, Defect> {
        let mut ahead = *self;
        if self.is_empty() {
            return Ok(None);
        }
        let (found, contents) = ahead.any()?;
        if found != tag {
            return Ok(None);
        }
        *self = ahead;
        Ok(Some(contents))
    }

    /// Reads a BOOLEAN that is false by default. Like webpki, accepts an explicit default, although X.690 §11.5 forbids
    /// it: common tools write it.
    pub(crate) fn flag(&mut self) -> Result<bool, Defect> {
        match self.optional(Tag::Boolean)? {
            None | Some([0]) => Ok(false),
            // X.690 §11.1.
            Some([0xff]) => Ok(true),
            Some(_) => Err(Defect::Malformed),
        }
    }

    /// Reads a BIT STRING of whole bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Defect> {
        match self.expect(Tag::BitString)? {
            [0, bytes @ ..] => Ok(bytes),
            _ => Err(Defect::Malformed),
        }
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&self) -> Result<(), Defect> {
        if self.is_empty() { Ok(()) } else { Err(Defect::Malformed) }
    }
}

/// Returns the contents of the one element in these bytes, which has this tag.
pub(crate) fn only(bytes: &[u8], tag: Tag) -> Result<&[u8], Defect> {
    let mut elements = Elements::new(bytes);
    let contents = elements.expect(tag)?;
    elements.end()?;
    Ok(contents)
}

/// Returns the context-specific tag with this number, of an element that consists of others.
pub(crate) const fn explicit(number: u32) -> Tag {
    Tag::ContextSpecific { constructed: true, number: TagNumber(number) }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{Elements, Tag};

    #[test]
    fn elements_are_read_one_after_the_other() {
        let mut elements = Elements::new(&[2, 1, 7, 0x30, 0, 4, 2, 8, 9]);
        assert_eq!(elements.any(), Ok((Tag::Integer, &[7][..])));
        assert_eq!(elements.optional(Tag::OctetString), Ok(None));
        assert_eq!(elements.expect_whole(Tag::Sequence), Ok((&[0x30, 0][..], &[][..])));
        assert_eq!(elements.expect(Tag::OctetString), Ok(&[8, 9][..]));
        assert_eq!(elements.end(), Ok(()));
    }

    #[test]
    fn lengths_are_as_short_as_can_be() {
        for (header, len) in [
            (&[4, 0x7f][..], 0x7f),
            (&[4, 0x81, 0x80], 0x80),
            (&[4, 0x81, 0xff], 0xff),
            (&[4, 0x82, 1, 0], 0x100),
            (&[4, 0x82, 0xff, 0xfe], 0xfffe),
        ] {
            let der = [header, &vec![0; len]].concat();
            let read = Elements::new(&der).any().map(|(_, contents)| contents.len());
            assert_eq!(read, Ok(len));
            assert!(Elements::new(&der[..der.len() - 1]).any().is_err());
        }
        for header in [
            &[4, 0x80][..],
            &[4, 0x81, 0x7f],
            &[4, 0x82, 0, 0xff],
            &[4, 0x82, 0xff, 0xff],
            &[4, 0x83, 0, 1, 0],
            &[4, 0x83, 1, 0, 0],
            &[0x1f, 1],
            &[0x24, 1],
        ] {
            let der = [header, &vec![0; 0x10000]].concat();
            assert!(Elements::new(&der).any().is_err(), "{header:x?}");
        }
        assert!(Elements::new(&[4]).any().is_err() && Elements::new(&[]).any().is_err());
    }

    #[test]
    fn a_flag_is_one_of_two_bytes() {
        let flag = |bytes: &[u8]| Elements::new(bytes).flag().ok();
        assert_eq!(flag(&[]), Some(false));
        assert_eq!(flag(&[4, 0]), Some(false));
        assert_eq!(flag(&[1, 1, 0]), Some(false));
        assert_eq!(flag(&[1, 1, 0xff]), Some(true));
        assert_eq!(flag(&[1, 1, 1]), None);
        assert_eq!(flag(&[1, 2, 0, 0]), None);
    }
}
