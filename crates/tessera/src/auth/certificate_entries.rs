//! The entries of a Certificate's body.

use crate::wire::Reader;

/// An entry of a Certificate (RFC 8446 §4.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateEntry<'a> {
    /// The certificate as DER, never empty; or the raw public key.
    pub certificate: &'a [u8],
    /// Its extensions, without the length of all of them.
    pub extensions: &'a [u8],
}

/// Iterates over the entries of a Certificate, all of which can be read.
#[derive(Debug, Clone, Default)]
pub struct CertificateEntries<'a> {
    /// The rest of the list.
    list: &'a [u8],
}

/// Returns the entries of a Certificate's body, in order. `None` if it can't be read or has a request context, which
/// a handshake's never has. Doesn't read the extensions.
#[must_use]
pub fn certificate_entries(body: &[u8]) -> Option<CertificateEntries<'_>> {
    let mut reader = Reader::new(body);
    let context = reader.vec8().ok()?;
    let list = reader.vec24().ok()?;
    reader.finish().ok()?;
    let mut rest = list;
    while !rest.is_empty() {
        (_, rest) = split_entry(rest)?;
    }
    context.is_empty().then_some(CertificateEntries { list })
}

/// Returns the first entry of a list, and the rest.
fn split_entry(list: &[u8]) -> Option<(CertificateEntry<'_>, &[u8])> {
    let mut reader = Reader::new(list);
    let certificate = reader.vec24().ok().filter(|it| !it.is_empty())?;
    let extensions = reader.vec16().ok()?;
    Some((CertificateEntry { certificate, extensions }, reader.rest()))
}

impl<'a> Iterator for CertificateEntries<'a> {
    type Item = CertificateEntry<'a>;

    fn next(&mut self) -> Option<CertificateEntry<'a>> {
        let (entry, rest) = split_entry(self.list)?;
        self.list = rest;
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::certificate_entries;

    const BODY: [u8; 19] =
        [0, 0, 0, 15, 0, 0, 2, 0xaa, 0xbb, 0, 1, 0xcc, 0, 0, 2, 0xdd, 0xee, 0, 0];

    #[test]
    fn the_entries_of_a_certificate_are_its_certificates_and_their_extensions() {
        let entries = certificate_entries(&BODY).expect("a body");
        let read: Vec<_> = entries.map(|it| (it.certificate, it.extensions)).collect();
        assert_eq!(read, [(&[0xaa, 0xbb][..], &[0xcc][..]), (&[0xdd, 0xee], &[])]);
        assert_eq!(certificate_entries(&[0, 0, 0, 0]).map(Iterator::count), Some(0));
    }

    #[test]
    fn a_body_of_no_handshake_certificate_has_no_entries() {
        for len in 0..BODY.len() {
            assert!(certificate_entries(&BODY[..len]).is_none(), "{len}");
        }
        assert!(certificate_entries(&[&BODY[..], &[0]].concat()).is_none());
        let with_context = [&[1, 7][..], &BODY[1..]].concat();
        let with_empty_certificate = [0, 0, 0, 5, 0, 0, 0, 0, 0];
        let cut_off = [0, 0, 0, 6, 0, 0, 2, 0xaa, 0xbb, 0];
        for wrong in [&with_context[..], &with_empty_certificate, &cut_off] {
            assert!(certificate_entries(wrong).is_none(), "{wrong:?}");
        }
    }
}
