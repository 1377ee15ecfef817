//! A forward-secret identity that is sent alone, with what vouches for it.
//!
//! A stock TLS stack offers an external PSK with one identity, and puts its own tickets first;
//! so no sealed ticket can follow as the second. Here the identity contains the sealed ticket, and a proof
//! that its sender has the ticket's PSK.

use super::forward_secret::FsIdentity;
use crate::crypto::equal;
use crate::schedule::{EarlySecret, KeyDerivation};
use crate::wire::Reader;

/// The identity in its parts.
pub(crate) struct LoneIdentity<'a> {
    pub(crate) key: FsIdentity<'a>,
    /// The sealed ticket.
    pub(crate) ticket: &'a [u8],
    /// Everything before the proof.
    covered: &'a [u8],
    proof: &'a [u8],
}

impl<'a> LoneIdentity<'a> {
    /// Reads an identity, if it is one.
    pub(crate) fn read(identity: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(identity.strip_prefix(PREFIX)?);
        let id = reader.array().ok()?;
        let encapsulated = reader.vec16().ok()?;
        let ticket = reader.vec16().ok()?;
        let proof = reader.rest();
        let (covered, _) = identity.split_at_checked(identity.len().checked_sub(proof.len())?)?;
        Some(Self { key: FsIdentity { id, encapsulated }, ticket, covered, proof })
    }

    /// Returns whether its sender had the PSK of the sealed ticket.
    pub(crate) fn is_proved(&self, kdf: KeyDerivation, psk: &[u8]) -> bool {
        let early = EarlySecret::new(kdf, psk);
        equal(early.lone_identity_proof(&kdf.hash.hash(self.covered)).as_ref(), self.proof)
    }
}

/// Version 2: the lone identity.
const PREFIX: &[u8] = b"\xff\x5afs\x02";
