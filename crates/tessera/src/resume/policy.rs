//! What a side offers and accepts when it reconnects: one readable value.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::early_data::SingleUseRegister;
use super::forward_secret::Vault;
use super::receipts::Receipts;
use crate::crypto::Provider;
use crate::error::{Error, require};
use crate::wire::{NamedGroup, TicketRequest};

/// How a side reconnects. The defaults are safe; each option that gives something up states so in its
/// name. `E` is what the side does with early data: [`OfferEarlyData`] or [`AcceptEarlyData`].
#[derive(Clone)]
pub struct ReconnectPolicy<E> {
    /// Resume with tickets, psk_dhe_ke: forward-secret, one round trip, no certificates.
    pub resumption: bool,
    /// Also use PSKs alone (psk_ke), of tickets or external: cheap, but an attacker who learns the PSK later
    /// can decrypt everything. Default: off. A client with this option offers only psk_ke with a PSK.
    pub psk_only_without_forward_secrecy: bool,
    /// How long a chain of resumptions may continue without a full handshake.
    pub max_authentication_age: Duration,
    /// How many tickets a client asks for (RFC 9149), and how many a server sends at most; never more
    /// than 32.
    pub tickets: TicketRequest,
    /// Early data. Default: none.
    pub early_data: E,
}

impl<E: Default> Default for ReconnectPolicy<E> {
    fn default() -> Self {
        Self {
            resumption: true,
            psk_only_without_forward_secrecy: false,
            max_authentication_age: Duration::from_secs(24 * 3600),
            tickets: TicketRequest { new_session_count: 2, resumption_count: 1 },
            early_data: E::default(),
        }
    }
}

/// The early data that a client offers, if it has a ticket for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OfferEarlyData {
    /// Forward-secret 0-RTT, accepted at most once. Set it to opt in, with how the handshake
    /// may continue.
    pub forward_secret: Option<Continuation>,
    /// Forward-secret 0-RTT also with one-time PSKs
    /// ([`NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED`]), which need no public-key operations.
    ///
    /// Both ends delete the PSK; an attacker who obtains the client's copy, from a backup or a flash cell, can
    /// decrypt the flight. Only for clients whose storage really deletes.
    pub one_time_psks_forward_secret_only_if_deleted: bool,
    /// Replayable 0-RTT (RFC 8446 §2.3): an attacker who learns the ticket's PSK later can decrypt the early data,
    /// and only the server's register prevents a second execution.
    pub replayable_without_forward_secrecy: bool,
}

/// The early data that a server accepts. It accepts none without a guard: the guard is the
/// permission.
#[derive(Clone, Default)]
pub struct AcceptEarlyData {
    /// Forward-secret 0-RTT.
    pub forward_secret: Option<OneTimeKeyGuard>,
    /// Replayable 0-RTT.
    pub replayable_without_forward_secrecy: Option<ReplayGuard>,
}

/// The guard of forward-secret 0-RTT: one-time keys that exist once.
#[derive(Clone)]
pub struct OneTimeKeyGuard {
    /// Where the private halves are.
    pub vault: Arc<dyn Vault>,
    /// The kinds of keys to issue, in this server's order of preference. With
    /// [`NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED`] the server trusts its clients to
    /// delete.
    pub kinds: Vec<NamedGroup>,
    /// How a handshake may continue; [`Continuation::PskKe`] is used with clients that offer it too.
    pub continuation: Continuation,
    /// The most early data of one flight, in bytes.
    pub max_early_data_size: u32,
    /// How long a key is kept: a flight that never arrives becomes forward-secret when this
    /// ends. At most a day.
    pub lifetime: Duration,
    /// Answers clients that ask about the fate of an earlier flight; without it they get no answer. It is
    /// asked only for clients that have proved a PSK, at most eight times in a handshake.
    pub receipts: Option<Arc<dyn Receipts>>,
    /// Also accept the lone identities of clients whose TLS stack can offer only one, such as OpenSSL. Default: off.
    ///
    /// Such an identity vouches for itself, but not for the ClientHello around it: an observer can put it into
    /// another ClientHello, and so burn its key. None of the observer's data is accepted; the client falls back to
    /// a full handshake.
    pub lone_identities: bool,
}

impl OneTimeKeyGuard {
    /// Creates a guard with safe defaults: hybrid keys before classical ones, psk_dhe_ke, 16 KiB, an hour.
    pub fn new(vault: Arc<dyn Vault>) -> Self {
        Self {
            vault,
            kinds: alloc::vec![NamedGroup::X25519MLKEM768, NamedGroup::X25519],
            continuation: Continuation::PskDheKe,
            max_early_data_size: 16 * 1024,
            lifetime: Duration::from_secs(3600),
            receipts: None,
            lone_identities: false,
        }
    }

    /// Checks what types can't.
    pub(crate) fn check(&self, provider: &Provider) -> Result<(), Error> {
        let can_issue = |kind: &NamedGroup| {
            *kind == NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED
                || provider.one_time_keys.iter().any(|keys| keys.kind() == *kind)
        };
        require(
            self.kinds.iter().any(can_issue),
            "policy.early_data.forward_secret.kinds: name at least one that the provider has",
        )?;
        let is_short = self.lifetime <= Duration::from_secs(24 * 3600);
        require(is_short, "policy.early_data.forward_secret.lifetime: at most a day")
    }
}

/// The guard of replayable 0-RTT.
#[derive(Clone)]
pub struct ReplayGuard {
    /// Remembers the tickets that were used with early data. Servers that share ticket keys must share
    /// it too: each register accepts a ticket once.
    pub register: Arc<dyn SingleUseRegister>,
    /// The most early data of one flight, in bytes.
    pub max_early_data_size: u32,
}

/// How a handshake continues after forward-secret early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Continuation {
    /// With another key exchange (psk_dhe_ke).
    #[default]
    PskDheKe,
    /// On the one-time key's secret alone (psk_ke, "fs-fast"): saves a key exchange, but an attacker who has *read*
    /// the vault before the flight and obtains the ticket can decrypt the whole session, not only the early
    /// data.
    PskKe,
}

impl Continuation {
    /// Returns the continuation that a handshake took, with or without another key exchange.
    pub(crate) fn with_share(with_share: bool) -> Self {
        if with_share { Self::PskDheKe } else { Self::PskKe }
    }
}
