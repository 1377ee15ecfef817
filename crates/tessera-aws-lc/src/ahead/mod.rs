//! Key pairs that are made in idle time, for the handshakes to come.

mod counts;
mod one_time;
mod pool;
mod share;

use tessera::crypto::{Hybrid, KeyAgreement, OneTimeKeys, wipe_stack_below};
use tessera::wire::NamedGroup;

pub use self::counts::{KeyCounts, KeyKind};
use self::one_time::OneTimeKeysAhead;
use self::pool::KeyPool;
pub use self::pool::{FillStep, KeyUsage};
use self::share::SharesAhead;
use crate::hybrid::ONE_TIME_X25519_ML_KEM_768;
use crate::stack_depth::STACK_DEPTH;
use crate::{dh, kem, one_time as on_demand};

pub(crate) static GROUPS: &[&dyn KeyAgreement] =
    &[&X25519_ML_KEM_768, &X25519, &dh::P256, &dh::P384, &ML_KEM_768];

pub(crate) static ONE_TIME_KEYS: &[&dyn OneTimeKeys] = &[&ONE_TIME_HYBRID, &ONE_TIME_X25519];

static X25519: SharesAhead<dh::DiffieHellman> = SharesAhead::new(&dh::X25519);

static ML_KEM_768: SharesAhead<kem::MlKem> = SharesAhead::new(&kem::ML_KEM_768);

static X25519_ML_KEM_768: Hybrid =
    Hybrid { group: NamedGroup::X25519MLKEM768, first: &ML_KEM_768, second: &X25519 };

static ONE_TIME_X25519: OneTimeKeysAhead = OneTimeKeysAhead::new(&on_demand::X25519);

static ONE_TIME_HYBRID: OneTimeKeysAhead = OneTimeKeysAhead::new(&ONE_TIME_X25519_ML_KEM_768);

/// The key pairs that [`provider_with_keys_ahead`](crate::provider_with_keys_ahead) takes: ephemeral ones of X25519
/// and ML-KEM-768, and one-time ones of X25519 and X25519MLKEM768 for a vault.
///
/// A process has one set of them. Its owner calls [`fill`](Self::fill) whenever there is nothing else to do; a handshake
/// that finds none makes its own, as without this. Each is used once, and those that get too old are wiped. A pair costs
/// the same processor time as one made by a handshake: it is spent earlier.
///
/// **Copies of the process.** Handshakes of a child of `fork` use no pair that its parent made, as long as its process id is
/// another: in a PID namespace of its own it may be the same. A child must not call these methods if another thread of its
/// parent may have been inside one: they would wait forever. A virtual machine that is copied with pairs in its memory can't
/// be detected: both copies would send the same shares, and an observer who learned one secret would have both. Don't use
/// this where machines are resumed from a snapshot more than once.
#[derive(Debug, Clone, Copy)]
pub struct KeysAhead(());

impl KeysAhead {
    pub(crate) const THE_PROCESS: Self = Self(());

    /// Wipes the key pairs that are too old or too many, and makes one that is missing, 10 to 35 µs of work. The cheapest
    /// come first.
    pub fn fill(&self, counts: KeyCounts) -> FillStep {
        KeyKind::ALL.iter().for_each(|kind| pool(*kind).trim(counts.of(*kind)));
        let is_missing = |kind: &&KeyKind| pool(**kind).len() < counts.of(**kind);
        let Some(kind) = KeyKind::ALL.iter().find(is_missing) else { return FillStep::Full };
        let step = make(*kind);
        // As the engine does after a handshake made one.
        wipe_stack_below(STACK_DEPTH.agreement);
        step
    }

    /// Wipes the key pairs that are too old, and makes none.
    pub fn wipe_old(&self) {
        KeyKind::ALL.iter().for_each(|kind| pool(*kind).trim(usize::MAX));
    }

    /// Returns how many key pairs there are.
    #[must_use]
    pub fn counts(&self) -> KeyCounts {
        KeyCounts::from_fn(|kind| pool(kind).len())
    }

    /// Returns what became of the key pairs of a kind since the process started.
    #[must_use]
    pub fn usage(&self, kind: KeyKind) -> KeyUsage {
        pool(kind).usage()
    }

    /// Returns this count for each kind that a handshake has asked for since the process started: a kind that no peer uses
    /// isn't worth making.
    #[must_use]
    pub fn kinds_in_use(&self, count: usize) -> KeyCounts {
        KeyCounts::from_fn(|kind| if pool(kind).usage().is_in_use() { count } else { 0 })
    }
}

/// In its own frame, which is wiped with those below it.
#[inline(never)]
fn make(kind: KeyKind) -> FillStep {
    pool(kind).make()
}

fn pool(kind: KeyKind) -> &'static dyn KeyPool {
    match kind {
        KeyKind::X25519 => &X25519,
        KeyKind::MlKem768 => &ML_KEM_768,
        KeyKind::OneTimeX25519 => &ONE_TIME_X25519,
        KeyKind::OneTimeX25519MlKem768 => &ONE_TIME_HYBRID,
    }
}
