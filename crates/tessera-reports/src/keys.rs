//! How keys come about: by agreement, from one-time keys, and in the handshake after early data.

use crate::named::named;

named! {
    /// How a key is agreed, in a handshake or with a one-time key.
    KeyExchange.name {
        /// Classical.
        X25519 = "x25519",
        /// Hybrid, against quantum computers: secret as long as either part is.
        X25519MlKem768 = "x25519mlkem768",
    }
}

impl KeyExchange {
    /// Returns its name in the TLS registry.
    #[must_use]
    pub fn registered_name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519MlKem768 => "X25519MLKEM768",
        }
    }

    /// Returns its name in tables, whose columns are narrow.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::X25519MlKem768 => "hybrid",
        }
    }
}

named! {
    /// The kind of a forward-secret ticket's one-time key.
    OneTimeKey.name {
        /// A classical key pair, whose private half the server has once.
        X25519 = "x25519",
        /// A hybrid key pair.
        X25519MlKem768 = "x25519mlkem768",
        /// A PSK that both ends have once: forward-secret only if both delete it.
        Psk = "one-time-psk",
    }
}

impl OneTimeKey {
    /// Returns how a client agrees a secret with such a key; `None` if there is nothing to agree.
    #[must_use]
    pub fn key_exchange(self) -> Option<KeyExchange> {
        match self {
            Self::X25519 => Some(KeyExchange::X25519),
            Self::X25519MlKem768 => Some(KeyExchange::X25519MlKem768),
            Self::Psk => None,
        }
    }

    /// Returns its name in sentences.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.key_exchange().map_or("one-time PSK", KeyExchange::registered_name)
    }

    /// Returns its name in tables.
    #[must_use]
    pub fn short(self) -> &'static str {
        self.key_exchange().map_or("psk", KeyExchange::short)
    }
}

impl From<KeyExchange> for OneTimeKey {
    /// Returns the kind of a key pair.
    fn from(kx: KeyExchange) -> Self {
        match kx {
            KeyExchange::X25519 => Self::X25519,
            KeyExchange::X25519MlKem768 => Self::X25519MlKem768,
        }
    }
}

named! {
    /// How a handshake continues after forward-secret early data.
    Continuation.name {
        /// With another key exchange.
        PskDheKe = "psk_dhe_ke",
        /// On the one-time key's secret alone.
        PskKe = "psk_ke",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_keys_are_those_of_the_report() {
        for agreement in KeyExchange::ALL {
            assert_eq!(serde_json::to_value(agreement).unwrap(), agreement.name());
        }
        for kind in OneTimeKey::ALL {
            let name = serde_json::to_value(kind).unwrap();
            assert_eq!(name, kind.name());
            assert_eq!(serde_json::from_value::<OneTimeKey>(name).unwrap(), kind);
        }
        for continuation in [Continuation::PskDheKe, Continuation::PskKe] {
            assert_eq!(serde_json::to_value(continuation).unwrap(), continuation.name());
        }
    }
}
