//! Public keys without the parts common to their kind.

use alloc::vec::Vec;

use tessera::auth::joined;

/// A kind of keys: the prefix and suffix of its SubjectPublicKeyInfo, and the length in between.
struct Kind {
    before: &'static [u8],
    len: usize,
    after: &'static [u8],
}

/// The kinds that most certificates have; a kind's number is its index.
const KINDS: [Kind; 2] = [
    // id-ecPublicKey, prime256v1, an uncompressed point (RFC 5480 §2).
    Kind {
        before: &[
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
            0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ],
        len: 64,
        after: &[],
    },
    // rsaEncryption, a modulus of 2048 bits, the exponent 65537 (RFC 3279 §2.3.1).
    Kind {
        before: &[
            0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d,
            0x01, 0x01, 0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00, 0x30, 0x82, 0x01, 0x0a,
            0x02, 0x82, 0x01, 0x01, 0x00,
        ],
        len: 256,
        after: &[0x02, 0x03, 0x01, 0x00, 0x01],
    },
];

/// The number for other kinds: such a key is stored whole, after its length.
const WHOLE: u8 = 15;

/// A key as it is stored.
pub(crate) struct StoredKey<'a> {
    /// The number of its kind, below 16.
    pub(crate) kind: u8,
    /// Its length, unless the kind has one.
    pub(crate) len: Option<[u8; 2]>,
    /// What its kind doesn't tell.
    pub(crate) rest: &'a [u8],
}

/// Returns what is stored of a SubjectPublicKeyInfo (DER). `None` if it is longer than any key.
pub(crate) fn stored(key: &[u8]) -> Option<StoredKey<'_>> {
    for (number, kind) in (0..).zip(&KINDS) {
        let middle = key.strip_prefix(kind.before).and_then(|key| key.strip_suffix(kind.after));
        if let Some(rest) = middle.filter(|middle| middle.len() == kind.len) {
            return Some(StoredKey { kind: number, len: None, rest });
        }
    }
    let len = u16::try_from(key.len()).ok()?.to_be_bytes();
    Some(StoredKey { kind: WHOLE, len: Some(len), rest: key })
}

/// Reads a key of this kind; returns it in full, and the bytes that follow. `None` also without memory for it.
pub(crate) fn read(kind: u8, from: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    match KINDS.get(usize::from(kind)) {
        Some(kind) => {
            let (middle, rest) = from.split_at_checked(kind.len)?;
            Some((joined(&[kind.before, middle, kind.after]).ok()?, rest))
        }
        None => {
            let (len, rest) = from.split_first_chunk()?;
            let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
            Some((joined(&[key]).ok()?, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::{KINDS, read, stored};

    /// Returns the number of a key's kind, and the key as it is stored.
    fn write(key: &[u8]) -> (u8, Vec<u8>) {
        let stored = stored(key).unwrap();
        (stored.kind, [stored.len.as_ref().map_or(&[][..], |len| len), stored.rest].concat())
    }

    #[test]
    fn public_keys_of_every_kind_come_back_as_they_were() {
        let common = |at: usize| {
            let kind = &KINDS[at];
            [kind.before, &vec![7; kind.len], kind.after].concat()
        };
        let mut too_short = common(0);
        too_short.pop();
        for (key, len) in [
            (common(0), 64),
            (common(1), 256),
            (too_short, 2 + 90),
            (b"another".to_vec(), 2 + 7),
            (Vec::new(), 2),
        ] {
            let (kind, mut written) = write(&key);
            assert_eq!((written.len(), kind < 16), (len, true));
            written.extend_from_slice(b"what follows");
            assert_eq!(read(kind, &written).unwrap(), (key, &b"what follows"[..]));
        }
    }

    #[test]
    fn a_public_key_that_is_cut_off_is_none() {
        let (kind, written) = write(b"another");
        assert!((0..written.len()).all(|len| read(kind, &written[..len]).is_none()));
    }
}
