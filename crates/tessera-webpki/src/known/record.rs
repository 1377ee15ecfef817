//! What is kept of a chain.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::public_key;

/// What a chain was found to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// The latest notBefore of its certificates.
    pub(super) not_before: u64,
    /// The earliest notAfter.
    pub(super) not_after: u64,
    /// The certificates that came, used or not.
    pub(super) certificates: usize,
    /// How long they are with their lengths, without anything stapled.
    pub(super) list_len: usize,
    /// The end entity's SubjectPublicKeyInfo (DER).
    pub(super) public_key: &'a [u8],
    /// Who the peer is, where the question doesn't say it.
    pub(super) identity: &'a [u8],
}

/// The same, small: notAfter (5 bytes), the seconds since notBefore (4), the certificates (1), their length (3),
/// the public key, the identity.
#[derive(Clone)]
pub(super) struct Record(Box<[u8]>);

impl Record {
    /// `None` of what is larger than any chain.
    pub(super) fn new(found: &Found<'_>) -> Option<Self> {
        // RFC 5280 §4.1.2.5 has four digits for the year.
        let not_after = found.not_after.min((1 << 40) - 1);
        // A chain that is good for longer than 136 years is known in the last 136 of them.
        let seconds = not_after.checked_sub(found.not_before)?.min(u32::MAX.into()) as u32;
        let certificates = u8::try_from(found.certificates).ok()?;
        let list_len = u32::try_from(found.list_len).ok().filter(|len| *len < 1 << 24)?;
        let mut bytes = Vec::with_capacity(HEAD + found.public_key.len() + found.identity.len());
        bytes.extend_from_slice(&not_after.to_be_bytes()[3..]);
        bytes.extend_from_slice(&seconds.to_be_bytes());
        bytes.push(certificates);
        bytes.extend_from_slice(&list_len.to_be_bytes()[1..]);
        public_key::write(found.public_key, &mut bytes)?;
        bytes.extend_from_slice(found.identity);
        Some(Self(bytes.into_boxed_slice()))
    }

    /// Whether all certificates are valid at this time.
    pub(super) fn is_valid_at(&self, unix: u64) -> bool {
        let not_after = self.not_after();
        let not_before = not_after.saturating_sub(self.number(5..9));
        (not_before..=not_after).contains(&unix)
    }

    /// When the first of them expires.
    pub(super) fn not_after(&self) -> u64 {
        self.number(0..5)
    }

    pub(super) fn certificates(&self) -> usize {
        self.number(9..10) as usize
    }

    pub(super) fn list_len(&self) -> usize {
        self.number(10..13) as usize
    }

    /// Public key and identity.
    pub(super) fn peer(&self) -> Option<(Vec<u8>, &[u8])> {
        public_key::read(self.0.get(HEAD..)?)
    }

    /// Its bytes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn number(&self, at: core::ops::Range<usize>) -> u64 {
        let bytes = self.0.get(at).unwrap_or_default();
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// Before the public key.
const HEAD: usize = 5 + 4 + 1 + 3;

#[cfg(test)]
mod tests {
    use super::{Found, Record};

    const FOUND: Found<'_> = Found {
        not_before: 1_893_456_000,
        not_after: 1_924_992_000,
        certificates: 2,
        list_len: 0x01_02_03,
        public_key: b"a key",
        identity: b"dns:client.example",
    };

    #[test]
    fn a_record_gives_back_what_was_found() {
        let record = Record::new(&FOUND).unwrap();
        assert_eq!(record.not_after(), 1_924_992_000);
        assert_eq!((record.certificates(), record.list_len()), (2, 0x01_02_03));
        assert_eq!(record.peer().unwrap(), (b"a key".to_vec(), &b"dns:client.example"[..]));
    }

    #[test]
    fn a_record_is_valid_from_its_first_second_to_its_last() {
        let record = Record::new(&FOUND).unwrap();
        for (unix, valid) in [
            (0, false),
            (1_893_455_999, false),
            (1_893_456_000, true),
            (1_924_992_000, true),
            (1_924_992_001, false),
            (u64::MAX, false),
        ] {
            assert_eq!(record.is_valid_at(unix), valid, "{unix}");
        }
    }

    #[test]
    fn a_record_of_centuries_is_valid_in_the_last_of_them() {
        let record = Record::new(&Found { not_before: 0, not_after: u64::MAX, ..FOUND }).unwrap();
        let last = (1 << 40) - 1;
        assert!(record.is_valid_at(last) && record.is_valid_at(last - u64::from(u32::MAX)));
        assert!(!record.is_valid_at(last + 1) && !record.is_valid_at(1_900_000_000));
    }

    #[test]
    fn what_is_no_chain_makes_no_record() {
        assert!(Record::new(&Found { not_before: u64::MAX, ..FOUND }).is_none());
        assert!(Record::new(&Found { certificates: 256, ..FOUND }).is_none());
        assert!(Record::new(&Found { list_len: 1 << 24, ..FOUND }).is_none());
        assert!(Record::new(&Found { public_key: &[0; 1 << 16], ..FOUND }).is_none());
    }
}
