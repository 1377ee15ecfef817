//! What was measured: the options of the paper, down to the last choice.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An option for N32, by the letter that Lastre et al. (Sensors 2025, 25(19), 6144, section 5.2) give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Letter {
    /// A full handshake, with certificates on both sides.
    #[serde(rename = "a")]
    A,
    /// A ticket's PSK alone (psk_ke).
    #[serde(rename = "b")]
    B,
    /// A ticket's PSK and a key exchange (psk_dhe_ke).
    #[serde(rename = "c")]
    C,
    /// Early data as in RFC 8446, and nobody who remembers it.
    #[serde(rename = "d")]
    D,
    /// The same with tickets that a server takes once (RFC 8446 §8.1). Not in the paper.
    #[serde(rename = "d'")]
    DSingleUse,
    /// Forward-secret early data, accepted at most once.
    #[serde(rename = "e")]
    E,
}

impl Letter {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::DSingleUse, Self::E];

    /// The letter, as in reports.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::DSingleUse => "d'",
            Self::E => "e",
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "full handshake",
            Self::B => "PSK only",
            Self::C => "PSK with key exchange",
            Self::D => "0-RTT without a register",
            Self::DSingleUse => "0-RTT with single-use tickets",
            Self::E => "0-RTT FS",
        }
    }

    /// Whether a request goes out with the first flight.
    #[must_use]
    pub fn has_early_data(self) -> bool {
        matches!(self, Self::D | Self::DSingleUse | Self::E)
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) {}", self.letter(), self.name())
    }
}

/// How a key is agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyExchange {
    /// Classical.
    X25519,
    /// Hybrid: secret as long as one of the two is.
    X25519MlKem768,
}

impl KeyExchange {
    /// Its name in the registry of TLS.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519MlKem768 => "X25519MLKEM768",
        }
    }
}

/// The kind of a forward-secret ticket's one-time key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OneTimeKey {
    /// A classical key pair.
    X25519,
    /// A hybrid key pair.
    X25519MlKem768,
    /// A PSK that both ends have once: forward-secret only as far as both delete it.
    #[serde(rename = "one-time-psk")]
    Psk,
}

impl OneTimeKey {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519MlKem768 => "X25519MLKEM768",
            Self::Psk => "one-time PSK",
        }
    }
}

/// How the handshake goes on after forward-secret early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// With a key exchange of its own.
    PskDheKe,
    /// On the one-time key's secret alone.
    PskKe,
}

impl Continuation {
    /// Its name in RFC 8446.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PskDheKe => "psk_dhe_ke",
            Self::PskKe => "psk_ke",
        }
    }
}

/// Where one-time keys and used tickets are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// In the memory of one process.
    #[default]
    Memory,
    /// In etcd, which several servers share.
    Etcd,
}

impl Store {
    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Etcd => "etcd",
        }
    }
}

/// One way to connect, down to the last choice: a row of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Way {
    /// The option.
    pub option: Letter,
    /// How the handshake agrees a key; `None` if it doesn't.
    pub kx: Option<KeyExchange>,
    /// The kind of the one-time key, in (e).
    pub ticket_key: Option<OneTimeKey>,
    /// How it goes on, in (e).
    pub continuation: Option<Continuation>,
    /// Where the server remembers what was used.
    pub store: Store,
}

impl Way {
    /// An option without a one-time key, with memory as its store.
    #[must_use]
    pub fn plain(option: Letter, kx: Option<KeyExchange>) -> Self {
        Self { option, kx, ticket_key: None, continuation: None, store: Store::Memory }
    }

    /// (e), with memory as its store. Without a key exchange it goes on with psk_ke.
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

    /// The same way with another store.
    #[must_use]
    pub fn with_store(self, store: Store) -> Self {
        Self { store, ..self }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.option)?;
        let words = [
            self.ticket_key.map(|key| format!("one-time key {}", key.name())),
            self.continuation.map(|continuation| continuation.name().to_owned()),
            self.kx.map(|kx| kx.name().to_owned()),
            (self.store == Store::Etcd).then(|| "etcd".to_owned()),
        ];
        for word in words.into_iter().flatten() {
            write!(f, ", {word}")?;
        }
        Ok(())
    }
}
