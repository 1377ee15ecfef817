//! The entries of a Certificate's body.

use alloc::vec::Vec;

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

/// Returns the entries of a Certificate's body, in order. `None` if it can't be read or has a request context, which
/// a handshake's never has. Doesn't read the extensions.
#[must_use]
pub fn certificate_entries(body: &[u8]) -> Option<Vec<CertificateEntry<'_>>> {
    let mut reader = Reader::new(body);
    let context = reader.vec8().ok()?;
    let mut list = Reader::new(reader.vec24().ok()?);
    reader.finish().ok()?;
    let mut entries = Vec::new();
    while !list.is_empty() {
        let certificate = list.vec24().ok().filter(|it| !it.is_empty())?;
        let extensions = list.vec16().ok()?;
        entries.push(CertificateEntry { certificate, extensions });
    }
    context.is_empty().then_some(entries)
}

#[cfg(test)]
mod tests {
    use super::certificate_entries;

    const BODY: [u8; 19] =
        [0, 0, 0, 15, 0, 0, 2, 0xaa, 0xbb, 0, 1, 0xcc, 0, 0, 2, 0xdd, 0xee, 0, 0];

    #[test]
    fn the_entries_of_a_certificate_are_its_certificates_and_their_extensions() {
        let entries = certificate_entries(&BODY).expect("a body");
        let read: [_; 2] = [0, 1].map(|at| (entries[at].certificate, entries[at].extensions));
        assert_eq!(read, [(&[0xaa, 0xbb][..], &[0xcc][..]), (&[0xdd, 0xee], &[])]);
        assert_eq!(entries.len(), 2);
        assert_eq!(certificate_entries(&[0, 0, 0, 0]), Some([].into()));
    }

    #[test]
    fn a_body_of_no_handshake_certificate_has_no_entries() {
        for len in 0..BODY.len() {
            assert_eq!(certificate_entries(&BODY[..len]), None, "{len}");
        }
        assert_eq!(certificate_entries(&[&BODY[..], &[0]].concat()), None);
        let with_context = [&[1, 7][..], &BODY[1..]].concat();
        let with_empty_certificate = [0, 0, 0, 5, 0, 0, 0, 0, 0];
        let cut_off = [0, 0, 0, 6, 0, 0, 2, 0xaa, 0xbb, 0];
        for wrong in [&with_context[..], &with_empty_certificate, &cut_off] {
            assert_eq!(certificate_entries(wrong), None, "{wrong:?}");
        }
    }
}
