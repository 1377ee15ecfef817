//! The names of static keys (docs/kem-auth.md §9).

use alloc::vec::Vec;

use crate::crypto::Hash;
use crate::wire::SignatureScheme;

/// Names a static key: the first half of a hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyId(pub(crate) [u8; Self::LEN]);

impl KeyId {
    /// In bytes.
    pub(crate) const LEN: usize = 16;

    pub(crate) fn of(sha256: &dyn Hash, scheme: SignatureScheme, public_key: &[u8]) -> Self {
        let mut hashed = Vec::with_capacity(LABEL.len() + 2 + public_key.len());
        hashed.extend_from_slice(LABEL);
        hashed.extend_from_slice(&scheme.0.to_be_bytes());
        hashed.extend_from_slice(public_key);
        let mut id = Self([0; Self::LEN]);
        id.0.copy_from_slice(&sha256.hash(&hashed).as_ref()[..Self::LEN]);
        id
    }
}

const LABEL: &[u8] = b"tessera known key 1";
