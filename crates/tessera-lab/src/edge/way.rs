//! How a client connects to an edge proxy.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tessera::wire::NamedGroup;
use tessera_reports::{Continuation, KeyExchange, Mode, OneTimeKey};

use crate::engine_names;
use crate::ways::Way;

/// How a client connects. The paper has the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeWay {
    /// A full handshake.
    Full,
    /// A full handshake whose proxy asks a signer for its signature (`tessera-signer`).
    FullSigner,
    /// A ticket of another proxy with the same ticket keys, and a key exchange (psk_dhe_ke).
    Resumed,
    /// The same with a classical key exchange, where the full handshake had a hybrid one: the ticket's PSK inherits its
    /// protection from a quantum computer.
    Inherited,
    /// A full handshake whose ClientHello lacks the hybrid share: the proxy asks for it (HelloRetryRequest).
    Retry,
    /// Forward-secret early data, at the proxy that issued the ticket.
    #[serde(rename = "0rtt-fs")]
    ZeroRttFs,
    /// The same at another proxy, to which the one-time key has moved.
    #[serde(rename = "0rtt-fs-moved")]
    ZeroRttFsMoved,
    /// The same at another proxy, which has the key burned by the one that issued the ticket: the early data is rejected,
    /// and sent again after the handshake.
    #[serde(rename = "0rtt-fs-burned")]
    ZeroRttFsBurned,
}

impl EdgeWay {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Full,
        Self::FullSigner,
        Self::Resumed,
        Self::Inherited,
        Self::Retry,
        Self::ZeroRttFs,
        Self::ZeroRttFsMoved,
        Self::ZeroRttFsBurned,
    ];

    /// Its name in options, tables and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::FullSigner => "full-signer",
            Self::Resumed => "resumed",
            Self::Inherited => "inherited",
            Self::Retry => "retry",
            Self::ZeroRttFs => "0rtt-fs",
            Self::ZeroRttFsMoved => "0rtt-fs-moved",
            Self::ZeroRttFsBurned => "0rtt-fs-burned",
        }
    }

    /// Returns the key exchanges that its connections may have.
    pub(super) fn exchanges(self) -> &'static [KeyExchange] {
        match self {
            Self::Inherited => &[KeyExchange::X25519],
            Self::Retry => &[KeyExchange::X25519MlKem768],
            Self::Full
            | Self::FullSigner
            | Self::Resumed
            | Self::ZeroRttFs
            | Self::ZeroRttFsMoved
            | Self::ZeroRttFsBurned => &KeyExchange::ALL,
        }
    }

    /// Whether it begins with a ticket.
    pub(super) fn resumes(self) -> bool {
        !matches!(self, Self::Full | Self::FullSigner | Self::Retry)
    }

    /// Whether the ticket is of another proxy.
    pub(super) fn moves(self) -> bool {
        matches!(self, Self::Resumed | Self::Inherited) || self.has_foreign_key()
    }

    /// Whether the other proxy deals with the one-time key of the first. Only keys of clients with certificates move.
    pub(super) fn has_foreign_key(self) -> bool {
        matches!(self, Self::ZeroRttFsMoved | Self::ZeroRttFsBurned)
    }

    /// Returns the key exchange of the connection that brings the ticket.
    pub(super) fn first_exchange(self, kx: KeyExchange) -> KeyExchange {
        if self == Self::Inherited { KeyExchange::X25519MlKem768 } else { kx }
    }

    /// Returns a client's groups: it sends shares for the first, and with a hybrid one for the classical one too.
    pub(super) fn groups_of_client(self, kx: KeyExchange) -> Vec<NamedGroup> {
        let both = [KeyExchange::X25519MlKem768, KeyExchange::X25519].map(engine_names::group);
        match (self, kx) {
            (Self::Retry, _) => both.into_iter().rev().collect(),
            (_, KeyExchange::X25519MlKem768) => both.to_vec(),
            (_, KeyExchange::X25519) => vec![engine_names::group(kx)],
        }
    }

    /// Returns it as both ends' engines report it.
    pub(super) fn observed(self, kx: KeyExchange) -> Way {
        if self == Self::ZeroRttFsBurned { Self::Resumed.way(kx) } else { self.way(kx) }
    }

    /// Returns what both ends are configured for.
    pub(super) fn way(self, kx: KeyExchange) -> Way {
        let (mode, ticket_key, continuation) = match self {
            Self::Full | Self::FullSigner | Self::Retry => (Mode::Full, None, None),
            Self::Resumed | Self::Inherited => (Mode::PskDhe, None, None),
            Self::ZeroRttFs | Self::ZeroRttFsMoved | Self::ZeroRttFsBurned => {
                (Mode::ZeroRttFs, Some(OneTimeKey::from(kx)), Some(Continuation::PskDheKe))
            }
        };
        Way { mode, kx: Some(kx), ticket_key, continuation, fast_open: false }
    }
}

impl fmt::Display for EdgeWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EdgeWay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("ways are {}", Self::ALL.map(Self::name).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_way_has_one_name() {
        for way in EdgeWay::ALL {
            let name = way.name();
            assert_eq!(name.parse(), Ok(way));
            assert_eq!(serde_json::to_value(way).unwrap(), name);
        }
        assert!("half".parse::<EdgeWay>().unwrap_err().contains("full, full-signer"));
    }
}
