//! The ways of reconnecting, as data.

use serde::{Deserialize, Serialize};
use tessera::wire::NamedGroup;
use tessera_reports::reconnect::Row;
use tessera_reports::{Continuation, KeyExchange, Mode, OneTimeKey, Store, Suite, Variant};

use crate::engine_names;

/// One way to connect, down to the last choice: a row of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) mode: Mode,
    /// How the handshake agrees a key; `None` if it does not.
    pub(crate) kx: Option<KeyExchange>,
    /// The kind of the one-time key.
    pub(crate) ticket_key: Option<OneTimeKey>,
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

    /// The way of a variant.
    pub(crate) fn of_variant(variant: &Variant) -> Self {
        let Variant { mode, kx, ticket_key, continuation, .. } = *variant;
        Self { mode, kx, ticket_key, continuation, fast_open: false }
    }

    /// The way of a row of `reconnect`.
    pub(crate) fn of_row(row: &Row) -> Self {
        let Row { mode, kx, ticket_key, continuation, fast_open, .. } = *row;
        Self { mode, kx, ticket_key, continuation, fast_open: fast_open.is_some() }
    }

    /// The variant of this way with a suite and a store.
    pub(crate) fn variant(self, suite: Suite, store: Store) -> Variant {
        let Self { mode, kx, ticket_key, continuation, fast_open: _ } = self;
        Variant { option: mode.letter(), mode, kx, ticket_key, continuation, store, suite }
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
                KeyExchange::ALL.map(|kx| plain(Some(kx))).to_vec()
            }
            Mode::ZeroRttFs => {
                let keys = KeyExchange::ALL.map(OneTimeKey::from);
                let with_kx = KeyExchange::ALL
                    .into_iter()
                    .flat_map(|kx| keys.map(|key| Self::one_time(mode, Some(kx), key)));
                let alone = keys.map(|key| Self::one_time(mode, None, key));
                with_kx.chain(alone).collect()
            }
            // It is for constrained devices.
            Mode::ZeroRttFsPsk => [Some(KeyExchange::X25519), None]
                .map(|kx| Self::one_time(mode, kx, OneTimeKey::Psk))
                .to_vec(),
        }
    }

    /// Creates a way under a one-time key, with or without a key exchange.
    fn one_time(mode: Mode, kx: Option<KeyExchange>, key: OneTimeKey) -> Self {
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
        let key = self.ticket_key.and_then(OneTimeKey::key_exchange);
        let mut groups: Vec<_> =
            [self.kx, key].into_iter().flatten().map(engine_names::group).collect();
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
}
