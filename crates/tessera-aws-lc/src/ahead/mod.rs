//! Key pairs that are made in idle time, for the handshakes to come.

mod one_time;
mod pool;
mod share;

use std::time::Duration;

use tessera::crypto::{Hybrid, KeyAgreement, OneTimeKeys};
use tessera::wire::NamedGroup;

use crate::{X25519_ML_KEM_768_ONE_TIME, dh, kem, one_time as on_demand};
use one_time::OneTimeAhead;
use share::SharesAhead;

pub(crate) static GROUPS: &[&dyn KeyAgreement] =
    &[&X25519_ML_KEM_768, &X25519, &dh::P256, &dh::P384, &ML_KEM_768];

pub(crate) static ONE_TIME_KEYS: &[&dyn OneTimeKeys] = &[&ONE_TIME_HYBRID, &ONE_TIME_X25519];

static X25519: SharesAhead<dh::DiffieHellman> = SharesAhead::new(&dh::X25519);

static ML_KEM_768: SharesAhead<kem::MlKem> = SharesAhead::new(&kem::ML_KEM_768);

static X25519_ML_KEM_768: Hybrid =
    Hybrid { group: NamedGroup::X25519MLKEM768, first: &ML_KEM_768, second: &X25519 };

static ONE_TIME_X25519: OneTimeAhead = OneTimeAhead::new(&on_demand::X25519);

static ONE_TIME_HYBRID: OneTimeAhead = OneTimeAhead::new(&X25519_ML_KEM_768_ONE_TIME);

/// The key pairs that [`provider_with_keys_ahead`](crate::provider_with_keys_ahead) takes: ephemeral ones of X25519
/// and ML-KEM-768, and one-time ones of X25519 and X25519MLKEM768 for a vault.
///
/// A process has one set of them. Its owner calls [`fill`](Self::fill) whenever there is nothing else to do; a handshake
/// that finds none makes its own, as without this. Each is used once, and those that get too old are wiped. A pair costs
/// the same processor time as one made by a handshake: it is spent earlier.
///
/// **Copies of the process.** Pairs that were made before `fork` are not used in the child. What can't be noticed is that a
/// virtual machine was copied with pairs in its memory: two copies would send the same shares, and an observer who learned
/// one secret would have both. Don't use this where machines are resumed from a snapshot more than once.
#[derive(Debug, Clone, Copy)]
pub struct KeysAhead(());

/// How many key pairs of a kind are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCounts {
    /// Of X25519, 250 bytes each: each handshake with a key exchange takes one.
    pub x25519: usize,
    /// Of ML-KEM-768, 4 kB each: only clients take them.
    pub ml_kem_768: usize,
    /// One-time keys of X25519, 150 bytes each, for tickets of a vault.
    pub one_time_x25519: usize,
    /// One-time keys of X25519MLKEM768, 3.7 kB each, expanded, for tickets of a vault.
    pub one_time_x25519_ml_kem_768: usize,
}

impl KeyCounts {
    /// None: what is there is wiped at the next [`fill`](KeysAhead::fill).
    pub const NONE: Self =
        Self { x25519: 0, ml_kem_768: 0, one_time_x25519: 0, one_time_x25519_ml_kem_768: 0 };

    /// For a server that issues forward-secret tickets: as many handshakes in a burst.
    #[must_use]
    pub const fn of_server(burst: usize) -> Self {
        Self {
            x25519: burst,
            ml_kem_768: 0,
            one_time_x25519: burst,
            one_time_x25519_ml_kem_768: burst,
        }
    }

    /// For a client: as many handshakes in a burst.
    #[must_use]
    pub const fn of_client(burst: usize) -> Self {
        Self { x25519: burst, ml_kem_768: burst, one_time_x25519: 0, one_time_x25519_ml_kem_768: 0 }
    }
}

/// How old a key pair may become before it is used.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

impl KeysAhead {
    pub(crate) const THE_PROCESS: Self = Self(());

    /// Makes one key pair that is missing, 6 to 25 µs of work, and wipes those that are too old or too many. Returns whether
    /// another is missing. Without randomness it makes none, and returns false.
    pub fn fill(&self, counts: KeyCounts) -> bool {
        let of_x25519 = X25519.fill(counts.x25519, LIFETIME);
        let of_ml_kem = ML_KEM_768.fill(counts.ml_kem_768, LIFETIME);
        let one_time = ONE_TIME_X25519.fill(counts.one_time_x25519, LIFETIME);
        let hybrid = ONE_TIME_HYBRID.fill(counts.one_time_x25519_ml_kem_768, LIFETIME);
        of_x25519 | of_ml_kem | one_time | hybrid
    }

    /// Returns how many key pairs there are.
    #[must_use]
    pub fn len(&self) -> KeyCounts {
        KeyCounts {
            x25519: X25519.len(),
            ml_kem_768: ML_KEM_768.len(),
            one_time_x25519: ONE_TIME_X25519.len(),
            one_time_x25519_ml_kem_768: ONE_TIME_HYBRID.len(),
        }
    }
}
