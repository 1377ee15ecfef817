//! The engine's names for what reports name.

use tessera::resume::Continuation as EngineContinuation;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_reports::{Continuation, KeyExchange, OneTimeKey, Suite};

/// Returns the group of a key exchange.
pub(crate) fn group(kx: KeyExchange) -> NamedGroup {
    match kx {
        KeyExchange::X25519 => NamedGroup::X25519,
        KeyExchange::X25519MlKem768 => NamedGroup::X25519MLKEM768,
    }
}

/// Returns the key exchange of a group.
pub(crate) fn key_exchange(of: NamedGroup) -> Option<KeyExchange> {
    KeyExchange::ALL.into_iter().find(|kx| group(*kx) == of)
}

/// Returns the group of a kind of one-time keys.
pub(crate) fn group_of_key(key: OneTimeKey) -> NamedGroup {
    let psk = NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED;
    key.key_exchange().map_or(psk, group)
}

/// Returns the kind of one-time keys of a group.
pub(crate) fn one_time_key(of: NamedGroup) -> Option<OneTimeKey> {
    OneTimeKey::ALL.into_iter().find(|key| group_of_key(*key) == of)
}

/// Returns the engine's continuation.
pub(crate) fn engine_continuation(continuation: Continuation) -> EngineContinuation {
    match continuation {
        Continuation::PskDheKe => EngineContinuation::PskDheKe,
        Continuation::PskKe => EngineContinuation::PskKe,
    }
}

/// Returns the continuation of the engine's.
pub(crate) fn continuation(of: EngineContinuation) -> Continuation {
    match of {
        EngineContinuation::PskDheKe => Continuation::PskDheKe,
        EngineContinuation::PskKe => Continuation::PskKe,
    }
}

/// Returns the number of a suite.
pub(crate) fn cipher_suite(suite: Suite) -> CipherSuite {
    match suite {
        Suite::Aes256GcmSha384 => CipherSuite::TLS_AES_256_GCM_SHA384,
        Suite::Aes128GcmSha256 => CipherSuite::TLS_AES_128_GCM_SHA256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_one_time_keys_comes_back() {
        for kind in OneTimeKey::ALL {
            assert_eq!(one_time_key(group_of_key(kind)), Some(kind));
        }
    }
}
