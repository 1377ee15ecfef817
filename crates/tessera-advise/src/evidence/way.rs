//! A measured way: an option of the paper, in one of its variants.

use std::fmt;

use serde::{Deserialize, Serialize};
use tessera_reports::{Continuation, KeyExchange, Letter, OneTimeKey, Store, Variant};

/// One way to connect, in every detail: a row of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Way {
    /// The option.
    pub option: Letter,
    /// The key exchange of the handshake; `None` without one.
    pub kx: Option<KeyExchange>,
    /// The kind of the one-time key, in (e).
    pub ticket_key: Option<OneTimeKey>,
    /// The continuation, in (e).
    pub continuation: Option<Continuation>,
    /// Where the server stores what was used.
    pub store: Store,
}

impl Way {
    /// Creates an option without a one-time key, with memory as its store.
    #[must_use]
    pub fn plain(option: Letter, kx: Option<KeyExchange>) -> Self {
        Self { option, kx, ticket_key: None, continuation: None, store: Store::Memory }
    }

    /// Creates (e), with memory as its store.
    ///
    /// Without a key exchange it continues with psk_ke.
    #[must_use]
    pub fn forward_secret(ticket_key: OneTimeKey, kx: Option<KeyExchange>) -> Self {
        let continuation = match kx {
            Some(_) => Continuation::PskDheKe,
            None => Continuation::PskKe,
        };
        Self {
            option: Letter::E,
            kx,
            ticket_key: Some(ticket_key),
            continuation: Some(continuation),
            store: Store::Memory,
        }
    }

    /// Returns the same way with another store.
    #[must_use]
    pub fn with_store(self, store: Store) -> Self {
        Self { store, ..self }
    }
}

impl From<Variant> for Way {
    fn from(variant: Variant) -> Self {
        let Variant { option, mode: _, kx, ticket_key, continuation, store, suite: _ } = variant;
        Self { option, kx, ticket_key, continuation, store }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.option)?;
        let words = [
            self.ticket_key.map(|key| format!("one-time key {}", key.words())),
            self.continuation.map(|continuation| continuation.name().to_owned()),
            self.kx.map(|kx| kx.registered_name().to_owned()),
            (self.store == Store::Etcd).then(|| "etcd".to_owned()),
        ];
        for word in words.into_iter().flatten() {
            write!(f, ", {word}")?;
        }
        Ok(())
    }
}
