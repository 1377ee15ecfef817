//! The measured ways: the options of the paper, in every variant.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An option for N32, by its letter in Lastre et al. (Sensors 2025, 25(19), 6144, section 5.2).
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
    /// Early data as in RFC 8446, without a memory of used tickets.
    #[serde(rename = "d")]
    D,
    /// The same with tickets that a server accepts once (RFC 8446 §8.1). Not in the paper.
    #[serde(rename = "d'")]
    DSingleUse,
    /// Forward-secret early data, accepted at most once.
    #[serde(rename = "e")]
    E,
}

impl Letter {
    /// All options.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::DSingleUse, Self::E];

    /// Returns the letter, as in reports.
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

    /// Returns a short name.
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
    /// Hybrid: secret as long as either part is.
    X25519MlKem768,
}

impl KeyExchange {
    /// Returns its name in the TLS registry.
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
    /// A PSK that both ends have once: forward-secret only if both delete it.
    #[serde(rename = "one-time-psk")]
    Psk,
}

impl OneTimeKey {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X25519 => "X25519",
            Self::X25519MlKem768 => "X25519MLKEM768",
            Self::Psk => "one-time PSK",
        }
    }
}

/// How the handshake continues after forward-secret early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// With another key exchange.
    PskDheKe,
    /// On the one-time key's secret alone.
    PskKe,
}

impl Continuation {
    /// Returns its name in RFC 8446.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PskDheKe => "psk_dhe_ke",
            Self::PskKe => "psk_ke",
        }
    }
}

/// Where one-time keys and used tickets are stored.
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
    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Etcd => "etcd",
        }
    }
}

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
