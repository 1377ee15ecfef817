//! The wrapping of keys: PrivateKeyInfo (PKCS#8, RFC 5958 §2) and SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).

use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::{Decode, Encode, SliceReader, Tag, Tagged};
use zeroize::Zeroizing;

/// Returns the contents of a PKCS#8 key's AlgorithmIdentifier, and of its privateKey.
pub(crate) fn open(der: &[u8]) -> der::Result<(&[u8], &[u8])> {
    let mut fields = SliceReader::new(contents(AnyRef::from_der(der)?)?)?;
    let _version = u8::decode(&mut fields)?;
    let algorithm = contents(AnyRef::decode(&mut fields)?)?;
    let key: &OctetStringRef = Decode::decode(&mut fields)?;
    // Attributes and a public key may follow.
    Ok((algorithm, key.as_bytes()))
}

/// Returns the PKCS#8 key of an algorithm (the contents of its AlgorithmIdentifier), whose privateKey is this one value.
/// `None` if it has more than the 127 bytes whose length fits into one.
pub(crate) fn wrap_short(algorithm: &[u8], tag: u8, value: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let len = |len: usize| u8::try_from(len).ok().filter(|len| *len < 0x80);
    let whole = 3 + 2 + algorithm.len() + 2 + 2 + value.len();
    // In one allocation: a shorter one would stay behind, with the key in it.
    let mut der = Zeroizing::new(Vec::with_capacity(2 + whole));
    der.extend_from_slice(&[0x30, len(whole)?, 2, 1, 0, 0x30, len(algorithm.len())?]);
    der.extend_from_slice(algorithm);
    der.extend_from_slice(&[4, len(2 + value.len())?, tag, len(value.len())?]);
    der.extend_from_slice(value);
    Some(der)
}

/// Returns the SubjectPublicKeyInfo of a key.
pub(crate) fn public(algorithm: &[u8], key: &[u8]) -> der::Result<Vec<u8>> {
    let mut contents = AnyRef::new(Tag::Sequence, algorithm)?.to_der()?;
    BitStringRef::from_bytes(key)?.encode_to_vec(&mut contents)?;
    AnyRef::new(Tag::Sequence, &contents)?.to_der()
}

/// Returns the contents of a SEQUENCE.
pub(crate) fn contents(sequence: AnyRef<'_>) -> der::Result<&[u8]> {
    sequence.tag().assert_eq(Tag::Sequence)?;
    Ok(sequence.value())
}
