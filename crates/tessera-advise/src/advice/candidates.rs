//! The ways that advice chooses from, safest first.

use crate::evidence::{KeyExchange, Letter, OneTimeKey, Store, Way};
use crate::facts::{Facts, SharedStore};

/// Returns the ways, safest first: a later way is chosen only for a measured saving.
pub(super) fn candidates(facts: &Facts) -> Vec<Way> {
    use KeyExchange::{X25519, X25519MlKem768};
    let store = match facts.shared_store {
        SharedStore::None => Store::Memory,
        SharedStore::Etcd => Store::Etcd,
    };
    let plain = |option| [X25519MlKem768, X25519].map(|kx| Way::plain(option, Some(kx)));
    let one_time = |key, kx| Way::forward_secret(key, kx).with_store(store);
    let mut ways = Vec::new();
    ways.extend(plain(Letter::A));
    ways.extend(plain(Letter::C));
    ways.push(one_time(OneTimeKey::X25519MlKem768, Some(X25519MlKem768)));
    ways.push(one_time(OneTimeKey::X25519MlKem768, None));
    ways.push(one_time(OneTimeKey::X25519, Some(X25519)));
    ways.push(one_time(OneTimeKey::X25519, None));
    ways.push(one_time(OneTimeKey::Psk, Some(X25519)));
    ways.push(one_time(OneTimeKey::Psk, None));
    ways.extend(plain(Letter::DSingleUse));
    ways.push(Way::plain(Letter::B, None));
    ways.extend(plain(Letter::D));
    ways
}

/// Returns the full handshake that the deployment needs.
pub(super) fn full(facts: &Facts) -> Way {
    let kx = match facts.post_quantum {
        true => KeyExchange::X25519MlKem768,
        false => KeyExchange::X25519,
    };
    Way::plain(Letter::A, Some(kx))
}
