//! The ways of reconnecting, as data.

use std::fmt;

use serde::{Deserialize, Serialize};
use tessera::resume::Continuation as EngineContinuation;
use tessera::wire::NamedGroup;

/// A way to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Certificates on both sides, as in a first connection.
    #[serde(rename = "full")]
    Full,
    /// A ticket's PSK alone (psk_ke).
    #[serde(rename = "psk-only")]
    PskOnly,
    /// A ticket's PSK and a key exchange (psk_dhe_ke).
    #[serde(rename = "psk-dhe")]
    PskDhe,
    /// The same with early data as in RFC 8446, behind a register of used tickets.
    #[serde(rename = "0rtt")]
    ZeroRtt,
    /// Early data under a one-time key: forward-secret, accepted at most once.
    #[serde(rename = "0rtt-fs")]
    ZeroRttFs,
    /// Early data under a one-time PSK, without public-key work: forward-secret only if both ends delete the PSK.
    #[serde(rename = "0rtt-fs-psk")]
    ZeroRttFsPsk,
    /// Early data as in RFC 8446 without a register, to show what the adversary achieves then.
    #[serde(rename = "0rtt-unguarded")]
    ZeroRttUnguarded,
}

impl Mode {
    /// All modes, from the slowest to the fastest; the last one is not for use.
    pub const ALL: [Self; 7] = [
        Self::Full,
        Self::PskOnly,
        Self::PskDhe,
        Self::ZeroRtt,
        Self::ZeroRttFs,
        Self::ZeroRttFsPsk,
        Self::ZeroRttUnguarded,
    ];

    /// Its name in options, tables and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::PskOnly => "psk-only",
            Self::PskDhe => "psk-dhe",
            Self::ZeroRtt => "0rtt",
            Self::ZeroRttFs => "0rtt-fs",
            Self::ZeroRttFsPsk => "0rtt-fs-psk",
            Self::ZeroRttUnguarded => "0rtt-unguarded",
        }
    }

    /// Whether the request goes out as early data.
    pub(crate) fn has_early_data(self) -> bool {
        self.is_replayable() || self.has_one_time_key()
    }

    /// Whether that early data is under a one-time key.
    pub(crate) fn has_one_time_key(self) -> bool {
        matches!(self, Self::ZeroRttFs | Self::ZeroRttFsPsk)
    }

    /// Whether that early data is of the kind that a server must remember to reject replays.
    pub(crate) fn is_replayable(self) -> bool {
        matches!(self, Self::ZeroRtt | Self::ZeroRttUnguarded)
    }

    /// Whether it begins with the ticket of an earlier connection.
    pub(crate) fn resumes(self) -> bool {
        self != Self::Full
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a key is agreed, in a handshake or with a one-time key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Agreement {
    /// Classical.
    X25519,
    /// Hybrid, against quantum computers.
    X25519MlKem768,
}

impl Agreement {
    const ALL: [Self; 2] = [Self::X25519, Self::X25519MlKem768];

    /// Returns the engine's name for it.
    pub(crate) fn group(self) -> NamedGroup {
        match self {
            Self::X25519 => NamedGroup::X25519,
            Self::X25519MlKem768 => NamedGroup::X25519MLKEM768,
        }
    }

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::X25519MlKem768 => "x25519mlkem768",
        }
    }

    /// Its name in tables, whose columns are narrow.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::X25519MlKem768 => "hybrid",
        }
    }

    /// Returns the one that tables call so.
    pub(crate) fn named_in_tables(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agreement| agreement.short() == name)
    }

    /// Returns the lab's name for a group of the engine.
    pub(crate) fn of(group: NamedGroup) -> Option<Self> {
        Self::ALL.into_iter().find(|agreement| agreement.group() == group)
    }
}

/// The kind of a one-time key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum OneTimeKind {
    /// None but a PSK that both ends have once.
    #[serde(rename = "one-time-psk")]
    OneTimePsk,
    /// A key pair, whose private half the server has once.
    #[serde(untagged)]
    KeyPair(Agreement),
}

impl OneTimeKind {
    /// Returns the engine's name for it.
    pub(crate) fn group(self) -> NamedGroup {
        match self {
            Self::OneTimePsk => NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED,
            Self::KeyPair(agreement) => agreement.group(),
        }
    }

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneTimePsk => "one-time-psk",
            Self::KeyPair(agreement) => agreement.name(),
        }
    }

    /// Its name in tables.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::OneTimePsk => "psk",
            Self::KeyPair(agreement) => agreement.short(),
        }
    }

    /// Returns the one that tables call so.
    pub(crate) fn named_in_tables(name: &str) -> Option<Self> {
        let mut all = Agreement::ALL.map(Self::KeyPair).into_iter().chain([Self::OneTimePsk]);
        all.find(|kind| kind.short() == name)
    }

    /// Returns the lab's name for a kind of the engine.
    pub(crate) fn of(kind: NamedGroup) -> Option<Self> {
        match kind {
            NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED => Some(Self::OneTimePsk),
            group => Agreement::of(group).map(Self::KeyPair),
        }
    }

    /// Returns how a client agrees a secret with such a key; `None` if there is nothing to agree.
    pub(crate) fn agreement(self) -> Option<Agreement> {
        match self {
            Self::OneTimePsk => None,
            Self::KeyPair(agreement) => Some(agreement),
        }
    }
}

/// How a handshake continues after early data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Continuation {
    /// With another key exchange.
    PskDheKe,
    /// On the one-time key's secret alone.
    PskKe,
}

impl Continuation {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PskDheKe => "psk_dhe_ke",
            Self::PskKe => "psk_ke",
        }
    }
}

impl From<Continuation> for EngineContinuation {
    fn from(continuation: Continuation) -> Self {
        match continuation {
            Continuation::PskDheKe => Self::PskDheKe,
            Continuation::PskKe => Self::PskKe,
        }
    }
}

impl From<EngineContinuation> for Continuation {
    fn from(continuation: EngineContinuation) -> Self {
        match continuation {
            EngineContinuation::PskDheKe => Self::PskDheKe,
            EngineContinuation::PskKe => Self::PskKe,
        }
    }
}

/// One way to connect, down to the last choice: a row of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) mode: Mode,
    /// How the handshake agrees a key; `None` if it does not.
    pub(crate) kx: Option<Agreement>,
    /// The kind of the one-time key.
    pub(crate) ticket_key: Option<OneTimeKind>,
    /// How the handshake continues after forward-secret early data.
    pub(crate) continuation: Option<Continuation>,
    /// Whether the first flight travels in TCP's SYN, as much of it as fits (RFC 7413).
    pub(crate) fast_open: bool,
}

impl Way {
    /// Returns all ways of these modes.
    pub(crate) fn all(modes: &[Mode]) -> Vec<Self> {
        modes.iter().flat_map(|mode| Self::of(*mode)).collect()
    }

    /// The same way, begun in the SYN.
    pub(crate) fn in_syn(self) -> Self {
        Self { fast_open: true, ..self }
    }

    fn of(mode: Mode) -> Vec<Self> {
        let plain = |kx| Self { mode, kx, ticket_key: None, continuation: None, fast_open: false };
        match mode {
            Mode::PskOnly => vec![plain(None)],
            Mode::Full | Mode::PskDhe | Mode::ZeroRtt | Mode::ZeroRttUnguarded => {
                Agreement::ALL.map(|kx| plain(Some(kx))).to_vec()
            }
            Mode::ZeroRttFs => {
                let keys = Agreement::ALL.map(OneTimeKind::KeyPair);
                let with_kx = Agreement::ALL
                    .into_iter()
                    .flat_map(|kx| keys.map(|key| Self::one_time(mode, Some(kx), key)));
                let alone = keys.map(|key| Self::one_time(mode, None, key));
                with_kx.chain(alone).collect()
            }
            // It is for constrained devices.
            Mode::ZeroRttFsPsk => [Some(Agreement::X25519), None]
                .map(|kx| Self::one_time(mode, kx, OneTimeKind::OneTimePsk))
                .to_vec(),
        }
    }

    /// Creates a way under a one-time key, with or without a key exchange.
    fn one_time(mode: Mode, kx: Option<Agreement>, key: OneTimeKind) -> Self {
        let continuation = match kx {
            Some(_) => Continuation::PskDheKe,
            None => Continuation::PskKe,
        };
        let (ticket_key, continuation) = (Some(key), Some(continuation));
        Self { mode, kx, ticket_key, continuation, fast_open: false }
    }

    /// Returns the groups of both ends, the one whose share is sent first. A client answers one-time keys only of kinds
    /// that are among its groups.
    pub(crate) fn groups(&self) -> Vec<NamedGroup> {
        let key = self.ticket_key.and_then(OneTimeKind::agreement);
        let mut groups: Vec<_> =
            [self.kx, key].into_iter().flatten().map(Agreement::group).collect();
        groups.dedup();
        if groups.is_empty() {
            // Nothing is agreed; this is for the connection that brings the tickets.
            groups.push(NamedGroup::X25519MLKEM768);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_listed_once() {
        let ways = Way::all(&Mode::ALL);
        assert_eq!(ways.len(), 2 + 1 + 2 + 2 + 6 + 2 + 2);
        for (index, way) in ways.iter().enumerate() {
            assert!(!ways[..index].contains(way), "{way:?} twice");
            assert_eq!(way.ticket_key.is_some(), way.mode.has_one_time_key());
            assert_eq!(way.continuation.is_some(), way.mode.has_one_time_key());
        }
    }

    #[test]
    fn the_names_of_modes_are_those_of_the_report() {
        for mode in Mode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
        for agreement in Agreement::ALL {
            assert_eq!(serde_json::to_value(agreement).unwrap(), agreement.name());
        }
        let keys = Agreement::ALL.map(OneTimeKind::KeyPair);
        for kind in keys.into_iter().chain([OneTimeKind::OneTimePsk]) {
            let name = serde_json::to_value(kind).unwrap();
            assert_eq!(name, kind.name());
            assert_eq!(serde_json::from_value::<OneTimeKind>(name).unwrap(), kind);
            assert_eq!(OneTimeKind::of(kind.group()), Some(kind));
        }
        for continuation in [Continuation::PskDheKe, Continuation::PskKe] {
            assert_eq!(serde_json::to_value(continuation).unwrap(), continuation.name());
        }
    }
}
