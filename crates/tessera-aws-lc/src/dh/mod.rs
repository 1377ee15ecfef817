//! Diffie-Hellman: X25519, P-256, P-384 and P-521.

use aws_lc_rs::agreement::{self, ParsedPublicKey, PrivateKey, PublicKey, UnparsedPublicKey};
use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, SharedSecret};
use tessera::wire::NamedGroup;

#[cfg(test)]
mod tests;

/// A Diffie-Hellman group. Share and reply have the same format.
#[derive(Clone, Copy)]
pub(crate) struct DiffieHellman {
    group: NamedGroup,
    algorithm: &'static agreement::Algorithm,
    share_len: usize,
    /// The first byte of every share, if the encoding has a fixed one.
    form: Option<u8>,
}

/// RFC 8446 §4.2.8.2 allows only the uncompressed form (SEC 1 §2.3.3).
const UNCOMPRESSED: Option<u8> = Some(4);

/// X25519 (RFC 7748).
pub(crate) static X25519: DiffieHellman = DiffieHellman {
    group: NamedGroup::X25519,
    algorithm: &agreement::X25519,
    share_len: 32,
    form: None,
};

/// NIST P-256.
pub(crate) static P256: DiffieHellman = DiffieHellman {
    group: NamedGroup::SECP256R1,
    algorithm: &agreement::ECDH_P256,
    share_len: 65,
    form: UNCOMPRESSED,
};

/// NIST P-384.
pub(crate) static P384: DiffieHellman = DiffieHellman {
    group: NamedGroup::SECP384R1,
    algorithm: &agreement::ECDH_P384,
    share_len: 97,
    form: UNCOMPRESSED,
};

/// NIST P-521.
pub(crate) static P521: DiffieHellman = DiffieHellman {
    group: NamedGroup::SECP521R1,
    algorithm: &agreement::ECDH_P521,
    share_len: 133,
    form: UNCOMPRESSED,
};

impl DiffieHellman {
    /// Reads a peer's share and checks that it is on the curve.
    ///
    /// Checks length and form here because AWS-LC would also accept compressed and hybrid points
    /// and whole SubjectPublicKeyInfo structures.
    pub(crate) fn read(&self, share: &[u8]) -> Result<ParsedPublicKey, AgreementError> {
        if share.len() != self.share_len || self.form.is_some_and(|form| share[0] != form) {
            return Err(AgreementError::InvalidShare);
        }
        UnparsedPublicKey::new(self.algorithm, share)
            .try_into()
            .map_err(|_| AgreementError::InvalidShare)
    }

    pub(crate) fn generate_ephemeral(&self) -> Result<EphemeralKey, AgreementError> {
        let key = self.generate_key()?;
        let share = public_half(&key)?;
        Ok(EphemeralKey { group: *self, key, share })
    }

    fn generate_key(&self) -> Result<PrivateKey, AgreementError> {
        PrivateKey::generate(self.algorithm).map_err(|_| AgreementError::Provider)
    }

    /// Returns the key with this private scalar, in the group's encoding.
    pub(crate) fn key_from_scalar(&self, scalar: &[u8]) -> Result<PrivateKey, AgreementError> {
        PrivateKey::from_private_key(self.algorithm, scalar).map_err(|_| AgreementError::Provider)
    }

    /// Computes the secret that `key` shares with the owner of `share`.
    pub(crate) fn agree(
        &self,
        key: &PrivateKey,
        share: &[u8],
    ) -> Result<SharedSecret, AgreementError> {
        agree(key, self.read(share)?)
    }
}

impl KeyAgreement for DiffieHellman {
    fn group(&self) -> NamedGroup {
        self.group
    }

    fn share_len(&self) -> usize {
        self.share_len
    }

    fn reply_len(&self) -> usize {
        self.share_len
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        Ok(Box::new(self.generate_ephemeral()?))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        // First, so that a bad share does not cost the generation of a key.
        let share = self.read(share)?;
        self.generate_ephemeral()?.answer(share)
    }
}

/// Computes the public half of `key`.
pub(crate) fn public_half(key: &PrivateKey) -> Result<PublicKey, AgreementError> {
    key.compute_public_key().map_err(|_| AgreementError::Provider)
}

/// Computes the raw x-coordinate (RFC 8446 §7.4.2). AWS-LC refuses the all-zero result that X25519 yields for
/// points of small order, as RFC 8446 §7.4.2 requires.
fn agree(key: &PrivateKey, share: ParsedPublicKey) -> Result<SharedSecret, AgreementError> {
    agreement::agree(key, share, AgreementError::InvalidShare, |secret| {
        Ok(SharedSecret::new(secret.to_vec()))
    })
}

pub(crate) struct EphemeralKey {
    group: DiffieHellman,
    key: PrivateKey,
    share: PublicKey,
}

impl EphemeralKey {
    /// Answers a share that was read.
    pub(crate) fn answer(
        self,
        share: ParsedPublicKey,
    ) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        Ok((self.share.as_ref().to_vec(), agree(&self.key, share)?))
    }
}

impl Ephemeral for EphemeralKey {
    fn share(&self) -> &[u8] {
        self.share.as_ref()
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.group.agree(&self.key, reply)
    }
}
