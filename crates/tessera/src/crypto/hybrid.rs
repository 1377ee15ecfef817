//! Two key agreements at once: shares, replies and secrets are concatenations.
//!
//! draft-ietf-tls-hybrid-design; X25519MLKEM768 puts the ML-KEM part first
//! (draft-ietf-tls-ecdhe-mlkem §4).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Random;
use super::agreement::{AgreementError, Ephemeral, KeyAgreement, OneTimeKey, OneTimeKeys};
use super::secret::SharedSecret;
use crate::wire::NamedGroup;

/// A hybrid of two key agreements, secure as long as one of them is.
pub struct Hybrid {
    /// The code point of the pair.
    pub group: NamedGroup,
    /// The part that comes first on the wire and in the secret.
    pub first: &'static dyn KeyAgreement,
    /// The part that comes second.
    pub second: &'static dyn KeyAgreement,
}

impl KeyAgreement for Hybrid {
    fn group(&self) -> NamedGroup {
        self.group
    }

    fn share_len(&self) -> usize {
        self.first.share_len() + self.second.share_len()
    }

    fn reply_len(&self) -> usize {
        self.first.reply_len() + self.second.reply_len()
    }

    fn suits_kem_authentication(&self) -> bool {
        self.first.suits_kem_authentication() && self.second.suits_kem_authentication()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        let first = self.first.generate()?;
        let second = self.second.generate()?;
        let share = concatenate(first.share(), second.share());
        Ok(Box::new(HybridEphemeral { first, second, share, first_reply: self.first.reply_len() }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let (first, second) = split(share, self.first.share_len())?;
        let (mut reply, first) = self.first.encapsulate(first)?;
        let (second_reply, second) = self.second.encapsulate(second)?;
        reply.extend_from_slice(&second_reply);
        Ok((reply, SharedSecret::concatenate(&first, &second)))
    }
}

struct HybridEphemeral {
    first: Box<dyn Ephemeral>,
    second: Box<dyn Ephemeral>,
    share: Vec<u8>,
    first_reply: usize,
}

impl Ephemeral for HybridEphemeral {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, AgreementError> {
        let (first, second) = split(reply, self.first_reply)?;
        let first = self.first.decapsulate(first)?;
        let second = self.second.decapsulate(second)?;
        Ok(SharedSecret::concatenate(&first, &second))
    }
}

/// One-time keys that are hybrids of two kinds. Their seeds and their expanded forms are concatenations; in the
/// latter a part without an expanded form keeps its seed.
pub struct HybridOneTimeKeys {
    /// The code point of the pair.
    pub kind: NamedGroup,
    /// The part that comes first on the wire and in the secret.
    pub first: &'static dyn OneTimeKeys,
    /// Length in bytes of what a client encapsulates to the first part.
    pub first_encapsulated_len: usize,
    /// The part that comes second.
    pub second: &'static dyn OneTimeKeys,
}

impl OneTimeKeys for HybridOneTimeKeys {
    fn kind(&self) -> NamedGroup {
        self.kind
    }

    fn seed_len(&self) -> usize {
        self.first.seed_len() + self.second.seed_len()
    }

    fn public_len(&self) -> usize {
        self.first.public_len() + self.second.public_len()
    }

    fn from_seed(&self, seed: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let (first, second) = split(seed, self.first.seed_len())?;
        Ok(self.join(self.first.from_seed(first)?, self.second.from_seed(second)?))
    }

    fn expanded_len(&self) -> Option<usize> {
        let has_one = self.first.expanded_len().or(self.second.expanded_len()).is_some();
        has_one.then(|| part_len(self.first) + part_len(self.second))
    }

    fn generate_expanded(
        &self,
        random: &dyn Random,
        private: &mut [u8],
    ) -> Result<Vec<u8>, AgreementError> {
        let parts = private.split_at_mut_checked(part_len(self.first));
        let (first, second) = parts.ok_or(AgreementError::Provider)?;
        let first = generate_part(self.first, random, first)?;
        let second = generate_part(self.second, random, second)?;
        Ok(concatenate(&first, &second))
    }

    fn from_expanded(&self, private: &[u8]) -> Result<Box<dyn OneTimeKey>, AgreementError> {
        let (first, second) = split(private, part_len(self.first))?;
        Ok(self.join(read_part(self.first, first)?, read_part(self.second, second)?))
    }
}

impl HybridOneTimeKeys {
    fn join(&self, first: Box<dyn OneTimeKey>, second: Box<dyn OneTimeKey>) -> Box<dyn OneTimeKey> {
        let first_encapsulated = self.first_encapsulated_len;
        Box::new(HybridOneTimeKey { first, second, first_encapsulated })
    }
}

fn part_len(keys: &dyn OneTimeKeys) -> usize {
    keys.expanded_len().unwrap_or(keys.seed_len())
}

fn generate_part(
    keys: &dyn OneTimeKeys,
    random: &dyn Random,
    private: &mut [u8],
) -> Result<Vec<u8>, AgreementError> {
    if keys.expanded_len().is_some() {
        return keys.generate_expanded(random, private);
    }
    random.fill(private)?;
    keys.from_seed(private)?.public()
}

fn read_part(
    keys: &dyn OneTimeKeys,
    private: &[u8],
) -> Result<Box<dyn OneTimeKey>, AgreementError> {
    match keys.expanded_len() {
        Some(_) => keys.from_expanded(private),
        None => keys.from_seed(private),
    }
}

struct HybridOneTimeKey {
    first: Box<dyn OneTimeKey>,
    second: Box<dyn OneTimeKey>,
    first_encapsulated: usize,
}

impl OneTimeKey for HybridOneTimeKey {
    fn public(&self) -> Result<Vec<u8>, AgreementError> {
        Ok(concatenate(&self.first.public()?, &self.second.public()?))
    }

    fn open(self: Box<Self>, encapsulated: &[u8]) -> Result<SharedSecret, AgreementError> {
        let (first, second) = split(encapsulated, self.first_encapsulated)?;
        let first = self.first.open(first)?;
        let second = self.second.open(second)?;
        Ok(SharedSecret::concatenate(&first, &second))
    }
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), AgreementError> {
    bytes.split_at_checked(at).ok_or(AgreementError::InvalidShare)
}

fn concatenate(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut both = Vec::with_capacity(first.len() + second.len());
    both.extend_from_slice(first);
    both.extend_from_slice(second);
    both
}
