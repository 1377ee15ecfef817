//! Key agreement whose secrets anyone can compute from what is on the wire.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

use crate::random;

/// A key agreement with messages and secrets of the lengths that the real one has.
#[derive(Clone, Copy)]
pub(crate) struct NullAgreement {
    pub(crate) group: NamedGroup,
    pub(crate) share_len: usize,
    pub(crate) reply_len: usize,
    pub(crate) secret_len: usize,
}

/// Stands in for X25519.
pub(crate) static X25519: NullAgreement =
    NullAgreement { group: NamedGroup::X25519, share_len: 32, reply_len: 32, secret_len: 32 };

/// Stands in for ML-KEM-768.
pub(crate) static ML_KEM_768: NullAgreement =
    NullAgreement { group: NamedGroup::MLKEM768, share_len: 1184, reply_len: 1088, secret_len: 32 };

/// Stands in for X25519MLKEM768.
pub(crate) static X25519_ML_KEM_768: NullAgreement = NullAgreement {
    group: NamedGroup::X25519MLKEM768,
    share_len: 1216,
    reply_len: 1120,
    secret_len: 64,
};

/// How many bytes at the front of a message differ from one to the next; the rest is zeros, which
/// cost nothing to make.
pub(crate) const DISTINCT_LEN: usize = 32;

impl NullAgreement {
    /// Returns the exclusive-or of the parts of share and reply that differ, repeated to the length of the real secret.
    pub(crate) fn secret(
        &self,
        share: &[u8],
        reply: &[u8],
    ) -> Result<SharedSecret, AgreementError> {
        if share.len() != self.share_len || reply.len() != self.reply_len {
            return Err(AgreementError::InvalidShare);
        }
        let mut secret = vec![0; self.secret_len];
        for part in secret.chunks_mut(DISTINCT_LEN) {
            for (byte, (share, reply)) in part.iter_mut().zip(share.iter().zip(reply)) {
                *byte = share ^ reply;
            }
        }
        Ok(SharedSecret::new(secret))
    }
}

/// Returns a message that differs from every other.
fn distinct(len: usize) -> Vec<u8> {
    let mut message = vec![0; len];
    random::fill(&mut message[..DISTINCT_LEN]);
    message
}

impl KeyAgreement for NullAgreement {
    fn group(&self) -> NamedGroup {
        self.group
    }

    fn share_len(&self) -> usize {
        self.share_len
    }

    fn reply_len(&self) -> usize {
        self.reply_len
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Ok(Box::new(NullEphemeral { agreement: *self, share: distinct(self.share_len) }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let reply = distinct(self.reply_len);
        let secret = self.secret(share, &reply)?;
        Ok((reply, secret))
    }
}

struct NullEphemeral {
    agreement: NullAgreement,
    share: Vec<u8>,
}

impl Ephemeral for NullEphemeral {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.agreement.secret(&self.share, reply)
    }
}
