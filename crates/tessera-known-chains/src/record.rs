//! The record of a chain.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use tessera::auth::joined;

use crate::key::Key;
use crate::public_key;

/// The result of verifying a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifiedChain<'a> {
    /// The latest notBefore of its certificates.
    pub(crate) not_before: u64,
    /// The earliest notAfter.
    pub(crate) not_after: u64,
    /// How many certificates were received, used or not.
    pub(crate) certificates: usize,
    /// Their total length with length prefixes, without stapled data.
    pub(crate) list_len: usize,
    /// The end entity's SubjectPublicKeyInfo (DER).
    pub(crate) public_key: &'a [u8],
    /// The peer's identity, unless it follows from the question.
    pub(crate) identity: &'a [u8],
}

/// A peer whose chain was accepted, as far as its proof and its dates decide.
pub(crate) struct KnownPeer {
    /// When all certificates are valid.
    pub(crate) validity: RangeInclusive<u64>,
    /// Its public key and its identity; `None` if they can't be read, or without memory for them.
    pub(crate) key_and_identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// The same in one allocation, after the key: notBefore (4 bytes), notAfter (5), the number of certificates
/// (1), their length (3), the share that it counts in (1), the prefix numbers of public key and identity (1),
/// the rest of either.
pub(crate) struct Record(Box<[u8]>);

impl Record {
    /// Returns `None` for anything larger than a chain, for chains that begin after 2106, and without memory for it.
    pub(crate) fn new(key: &Key, found: &VerifiedChain<'_>) -> Option<Self> {
        // RFC 5280 §4.1.2.5 has four digits for the year.
        let not_after = found.not_after.min((1 << 40) - 1);
        let not_before = u32::try_from(found.not_before).ok()?;
        let certificates = u8::try_from(found.certificates).ok()?;
        let list_len = u32::try_from(found.list_len).ok().filter(|len| *len < 1 << 24)?;
        let public_key = public_key::stored(found.public_key)?;
        let (beginning, identity) = (0..)
            .zip(BEGINNINGS)
            .find_map(|(number, it)| Some((number, found.identity.strip_prefix(it)?)))?;
        let bytes = joined(&[
            key,
            &not_before.to_be_bytes(),
            &not_after.to_be_bytes()[3..],
            &[certificates],
            &list_len.to_be_bytes()[1..],
            // No share yet.
            &[0, beginning << 4 | public_key.kind],
            public_key.len.as_ref().map_or(&[], |len| len),
            public_key.rest,
            identity,
        ]);
        Some(Self(bytes.ok()?.into_boxed_slice()))
    }

    /// Returns the share that it counts in.
    pub(crate) fn share(&self) -> u8 {
        self.byte(SHARE)
    }

    pub(crate) fn count_in(&mut self, share: u8) {
        if let Some(byte) = self.0.get_mut(SHARE) {
            *byte = share;
        }
    }

    /// Returns its key.
    pub(crate) fn key(&self) -> Key {
        self.0.first_chunk().copied().unwrap_or_default()
    }

    /// Whether it has this key.
    pub(crate) fn is_of(&self, key: &Key) -> bool {
        self.0.first_chunk() == Some(key)
    }

    /// Returns when all certificates are valid.
    pub(crate) fn validity(&self) -> RangeInclusive<u64> {
        self.number(16..20)..=self.not_after()
    }

    /// Whether all certificates are valid at this time.
    pub(crate) fn is_valid_at(&self, unix: u64) -> bool {
        self.validity().contains(&unix)
    }

    /// Returns the peer.
    pub(crate) fn known_peer(&self) -> KnownPeer {
        KnownPeer { validity: self.validity(), key_and_identity: self.peer() }
    }

    /// Returns when the first of them expires.
    pub(crate) fn not_after(&self) -> u64 {
        self.number(20..25)
    }

    pub(crate) fn certificates(&self) -> usize {
        usize::from(self.byte(25))
    }

    pub(crate) fn list_len(&self) -> usize {
        self.number(26..29) as usize
    }

    /// Returns public key and identity. `None` also without memory for them.
    pub(crate) fn peer(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let kinds = self.byte(KINDS);
        let (public_key, rest) = public_key::read(kinds & 15, self.0.get(HEAD..)?)?;
        let beginning = BEGINNINGS.get(usize::from(kinds >> 4))?;
        Some((public_key, joined(&[beginning, rest]).ok()?))
    }

    /// Returns its size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or_default()
    }

    fn number(&self, at: core::ops::Range<usize>) -> u64 {
        let bytes = self.0.get(at).unwrap_or_default();
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// Identity prefixes that are stored as a number, the longest first; at most 16. 5G network functions have
/// URNs, workloads SPIFFE IDs.
const BEGINNINGS: [&[u8]; 6] =
    [b"uri:urn:uuid:", b"uri:spiffe://", b"subject:", b"dns:", b"uri:", b""];

/// Offset of the share, followed by one byte with the two numbers.
const SHARE: usize = 29;
const KINDS: usize = 30;

/// Length of everything before the public key.
const HEAD: usize = 31;

#[cfg(test)]
mod tests {
    use super::{Key, Record, VerifiedChain};

    const KEY: Key = [9; 16];

    const FOUND: VerifiedChain<'_> = VerifiedChain {
        not_before: 1_893_456_000,
        not_after: 1_924_992_000,
        certificates: 2,
        list_len: 0x01_02_03,
        public_key: b"a key",
        identity: b"dns:client.example",
    };

    #[test]
    fn a_record_gives_back_what_was_found() {
        let record = Record::new(&KEY, &FOUND).unwrap();
        assert_eq!((record.key(), record.not_after()), (KEY, 1_924_992_000));
        assert!(record.is_of(&KEY) && !record.is_of(&[8; 16]));
        assert_eq!((record.certificates(), record.list_len()), (2, 0x01_02_03));
        assert_eq!(record.peer().unwrap(), (b"a key".to_vec(), b"dns:client.example".to_vec()));
    }

    #[test]
    fn an_identity_comes_back_whatever_it_begins_with() {
        for (identity, kept) in [
            (&b""[..], 0),
            (b"dns:", 0),
            (b"dns", 3),
            (b"dns:client.example", 14),
            (b"uri:urn:uuid:6f1c", 4),
            (b"uri:urn:other", 9),
            (b"uri:spiffe://example/a", 9),
            (b"subject:0\x0c", 2),
            (b"Subject:", 8),
        ] {
            let of = |identity| Record::new(&KEY, &VerifiedChain { identity, ..FOUND }).unwrap();
            let record = of(identity);
            assert_eq!(record.peer().unwrap().1, identity);
            assert_eq!(record.len() - of(b"").len(), kept, "{identity:?}");
        }
    }

    #[test]
    fn a_record_names_the_share_in_which_it_counts() {
        let mut record = Record::new(&KEY, &FOUND).unwrap();
        let whole = |it: &Record| (it.key(), it.not_after(), it.list_len(), it.peer());
        let before = whole(&record);
        record.count_in(200);
        assert_eq!((record.share(), whole(&record)), (200, before));
    }

    #[test]
    fn a_record_is_valid_from_its_first_second_to_its_last() {
        let record = Record::new(&KEY, &FOUND).unwrap();
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

    /// RFC 5280 §4.1.2.5: the year 9999 means no expiry.
    #[test]
    fn a_record_of_centuries_is_valid_in_all_of_them() {
        let end_of_9999 = 253_402_300_799;
        let found = VerifiedChain { not_before: 0, not_after: end_of_9999, ..FOUND };
        let record = Record::new(&KEY, &found).unwrap();
        assert!([0, 1_900_000_000, end_of_9999].iter().all(|unix| record.is_valid_at(*unix)));
        assert!(!record.is_valid_at(end_of_9999 + 1));
    }

    #[test]
    fn anything_but_a_chain_makes_no_record() {
        assert!(Record::new(&KEY, &VerifiedChain { not_before: u64::MAX, ..FOUND }).is_none());
        assert!(Record::new(&KEY, &VerifiedChain { certificates: 256, ..FOUND }).is_none());
        assert!(Record::new(&KEY, &VerifiedChain { list_len: 1 << 24, ..FOUND }).is_none());
        assert!(Record::new(&KEY, &VerifiedChain { public_key: &[0; 1 << 16], ..FOUND }).is_none());
    }
}
