//! The key of a state directory.

use std::time::Duration;

use tessera::crypto::{Provider, RandomFailed};
use zeroize::Zeroizing;

use crate::keys::{EpochKey, RingError, WrappingKeys, WrappingPurpose};

/// The key under which the files of a [`ServerState`](super::ServerState) are sealed: 32 random bytes, stored
/// outside the directory. Each directory has its own key.
pub struct StateKey(Box<Zeroizing<[u8; Self::LEN]>>);

impl StateKey {
    /// Its length in bytes.
    pub const LEN: usize = 32;

    /// Makes a key from a stored secret, which must not be all zeros.
    #[must_use]
    pub fn new(secret: Box<Zeroizing<[u8; Self::LEN]>>) -> Self {
        Self(secret)
    }

    /// Makes a new random key.
    ///
    /// # Errors
    /// Returns an error if the provider has no randomness.
    pub fn generate(provider: &Provider) -> Result<Self, RandomFailed> {
        let mut secret = Box::new(Zeroizing::new([0; Self::LEN]));
        provider.random.fill(&mut **secret)?;
        Ok(Self(secret))
    }

    /// Returns the secret, for storage.
    #[must_use]
    pub fn expose(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl std::fmt::Debug for StateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateKey").finish_non_exhaustive()
    }
}

/// Makes wrapping keys: the first wraps, all unwrap.
pub(super) fn wrapping_keys(
    provider: &Provider,
    purpose: WrappingPurpose,
    keys: &[StateKey],
) -> Result<WrappingKeys, RingError> {
    let set = WrappingKeys::new(provider, purpose);
    let named = keys.iter().enumerate().map(|(index, key)| {
        let forever = EpochKey::forever(id(provider, key), (*key.0).clone());
        match index {
            0 => forever,
            _ => EpochKey { issues_until: Duration::from_nanos(1), ..forever },
        }
    });
    set.install(named.collect(), NOW)?;
    Ok(set)
}

/// Derives the id from the secret, so that only the secret must be stored.
fn id(provider: &Provider, key: &StateKey) -> [u8; 16] {
    let mut id = [0; 16];
    if let Some(suite) = provider.suites.first() {
        let prk = suite.hash.extract(b"tessera state key v1", key.expose());
        suite.hash.expand(prk.expose(), b"id", &mut id);
    }
    id
}

/// State keys have no expiry.
pub(super) const NOW: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A replaced key still opens, but seals nothing new.
    #[test]
    fn the_first_key_wraps_whichever_it_is() {
        let provider = tessera_aws_lc::provider();
        let key = |byte| StateKey::new(Box::new(Zeroizing::new([byte; StateKey::LEN])));
        let keys = |bytes: &[u8]| {
            let keys: Vec<_> = bytes.iter().map(|byte| key(*byte)).collect();
            wrapping_keys(&provider, WrappingPurpose::Snapshot, &keys).unwrap()
        };
        for [first, second] in [[1, 2], [2, 1]] {
            let wrapped = keys(&[first, second]).wrap(b"x", b"secret", NOW).unwrap();
            let opens = |bytes: &[u8]| keys(bytes).unwrap(b"x", &wrapped, NOW).is_some();
            assert_eq!(
                [opens(&[first]), opens(&[second]), opens(&[second, first])],
                [true, false, true]
            );
        }
    }
}
