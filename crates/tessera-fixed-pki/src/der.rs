//! A strict reader of DER (ITU-T X.690) that copies nothing.

use crate::defect::Defect;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;

/// The elements that follow each other in these bytes.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads the next element; returns its tag and its contents.
    pub(crate) fn any(&mut self) -> Result<(u8, &'a [u8]), Defect> {
        let (tag, len, rest) = match self.0 {
            // X.690 §8.1.2.4: tags above 30 have several bytes. Certificates have none.
            [tag, ..] if tag & 0x1f == 0x1f => return Err(Defect::Malformed),
            [tag, len @ ..=0x7f, rest @ ..] => (*tag, usize::from(*len), rest),
            // §10.1: lengths are as short as can be.
            [tag, 0x81, len @ 0x80..=0xff, rest @ ..] => (*tag, usize::from(*len), rest),
            // Contents of 65,535 bytes are refused by webpki, too.
            [tag, 0x82, high, low, rest @ ..] if *high != 0 && (*high & *low) != 0xff => {
                (*tag, usize::from(u16::from_be_bytes([*high, *low])), rest)
            }
            _ => return Err(Defect::Malformed),
        };
        let (contents, rest) = rest.split_at_checked(len).ok_or(Defect::Malformed)?;
        self.0 = rest;
        Ok((tag, contents))
    }

    /// Reads the next element, which must have this tag; returns its contents.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Defect> {
        match self.any()? {
            (found, contents) if found == tag => Ok(contents),
            _ => Err(Defect::Malformed),
        }
    }

    /// The same, returning the whole element, and then its contents.
    pub(crate) fn expect_whole(&mut self, tag: u8) -> Result<(&'a [u8], &'a [u8]), Defect> {
        let before = self.0;
        let contents = self.expect(tag)?;
        let whole = before.get(..before.len() - self.0.len()).ok_or(Defect::Malformed)?;
        Ok((whole, contents))
    }

    /// Reads the next element if it has this tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, Defect> {
        match self.0.first() {
            Some(found) if *found == tag => self.expect(tag).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads a BOOLEAN that is false by default. Like webpki, accepts an explicit default, although X.690 §11.5 forbids
    /// it: common tools write it.
    pub(crate) fn flag(&mut self) -> Result<bool, Defect> {
        match self.optional(BOOLEAN)? {
            None | Some([0]) => Ok(false),
            // X.690 §11.1.
            Some([0xff]) => Ok(true),
            Some(_) => Err(Defect::Malformed),
        }
    }

    /// Reads a BIT STRING of whole bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Defect> {
        match self.expect(BIT_STRING)? {
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
pub(crate) fn only(bytes: &[u8], tag: u8) -> Result<&[u8], Defect> {
    let mut reader = Reader::new(bytes);
    let contents = reader.expect(tag)?;
    reader.end()?;
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::Reader;

    #[test]
    fn elements_are_read_one_after_the_other() {
        let mut reader = Reader::new(&[2, 1, 7, 0x30, 0, 4, 2, 8, 9]);
        assert_eq!(reader.any().ok(), Some((2, &[7][..])));
        assert_eq!(reader.optional(4).ok(), Some(None));
        assert_eq!(reader.expect_whole(0x30).ok(), Some((&[0x30, 0][..], &[][..])));
        assert_eq!(reader.expect(4).ok(), Some(&[8, 9][..]));
        assert!(reader.end().is_ok());
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
            assert_eq!(Reader::new(&der).any().map(|(_, contents)| contents.len()).ok(), Some(len));
            assert!(Reader::new(&der[..der.len() - 1]).any().is_err());
        }
        for header in [
            &[4, 0x80][..],
            &[4, 0x81, 0x7f],
            &[4, 0x82, 0, 0xff],
            &[4, 0x82, 0xff, 0xff],
            &[4, 0x83, 0, 1, 0],
            &[0x1f, 1],
            &[4],
            &[],
        ] {
            let der = [header, &vec![0; 0x10000]].concat();
            let der = if header.len() < 2 { header } else { &der };
            assert!(Reader::new(der).any().is_err(), "{header:x?}");
        }
    }

    #[test]
    fn a_flag_is_one_of_two_bytes() {
        let flag = |bytes: &[u8]| Reader::new(bytes).flag().ok();
        assert_eq!(flag(&[]), Some(false));
        assert_eq!(flag(&[4, 0]), Some(false));
        assert_eq!(flag(&[1, 1, 0]), Some(false));
        assert_eq!(flag(&[1, 1, 0xff]), Some(true));
        assert_eq!(flag(&[1, 1, 1]), None);
        assert_eq!(flag(&[1, 2, 0, 0]), None);
    }
}
