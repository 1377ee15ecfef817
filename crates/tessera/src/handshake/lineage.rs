//! What a connection passes on to its sessions, on either side.

use alloc::string::String;
use alloc::vec::Vec;

use crate::auth::{PeerIdentity, VerifierDigest};
use crate::carrier::Carrier;
use crate::crypto::{Secret, Suite};
use crate::resume::{Ancestry, Companion, SessionState};
use crate::time::Time;
use crate::wire::NamedGroup;

/// The peer's identity and the connection's strength, from this handshake or from the one that began the
/// chain of resumptions.
pub(crate) struct Lineage {
    pub(crate) protocol: Option<Vec<u8>>,
    pub(crate) server_name: Option<String>,
    pub(crate) peer: Option<PeerIdentity>,
    /// The verifier that accepted the peer.
    pub(crate) accepted_by: Option<VerifierDigest>,
    pub(crate) external_psk: Option<Vec<u8>>,
    /// Whether a client without a date notes times by its monotonic clock.
    pub(crate) is_monotonic: bool,
    /// When the last full handshake of the chain was, in seconds on that clock.
    pub(crate) authenticated_at: Option<u64>,
    pub(crate) ancestry: Option<Ancestry>,
    /// What carries the connection.
    pub(crate) carrier: Carrier,
}

/// The terms of a ticket.
pub(crate) struct TicketTerms {
    /// In seconds.
    pub(crate) lifetime: u32,
    pub(crate) age_add: u32,
    pub(crate) max_early_data_size: u32,
    pub(crate) companion: Option<Companion>,
    pub(crate) policy_epoch: u64,
    /// The owner's part of the scope.
    pub(crate) scope: Vec<u8>,
}

impl Lineage {
    /// Creates the lineage of a connection of which nothing else is known.
    pub(crate) fn over(carrier: Carrier) -> Self {
        Self {
            protocol: None,
            server_name: None,
            peer: None,
            accepted_by: None,
            external_psk: None,
            is_monotonic: false,
            authenticated_at: None,
            ancestry: None,
            carrier,
        }
    }

    /// Inherits from the session that is resumed, if any.
    pub(crate) fn inherit(
        &mut self,
        session: Option<&SessionState>,
        group: Option<NamedGroup>,
        one_time_key: Option<NamedGroup>,
    ) {
        self.ancestry = Some(match session {
            None => Ancestry::of_exchange(group),
            Some(session) => {
                self.peer = session.peer.clone();
                self.accepted_by = session.accepted_by;
                self.external_psk = session.external_psk.clone();
                self.authenticated_at = Some(session.authenticated_at);
                session.ancestry.resumed(group, one_time_key)
            }
        });
    }

    /// Returns the session of one ticket issued at `now`.
    pub(crate) fn session(
        &self,
        suite: &Suite,
        psk: Secret,
        ticket: TicketTerms,
        now: core::time::Duration,
    ) -> SessionState {
        SessionState {
            suite: suite.id,
            psk,
            protocol: self.protocol.clone(),
            server_name: self.server_name.clone(),
            peer: self.peer.clone(),
            accepted_by: self.accepted_by,
            external_psk: self.external_psk.clone(),
            authenticated_at: self.authenticated_at.unwrap_or(now.as_secs()),
            policy_epoch: ticket.policy_epoch,
            scope: ticket.scope,
            ancestry: self.ancestry.unwrap_or(Ancestry::PskOnly),
            issued_at: now.as_millis() as u64,
            lifetime: ticket.lifetime,
            age_add: ticket.age_add,
            max_early_data_size: ticket.max_early_data_size,
            companion: ticket.companion,
            carrier: self.carrier,
        }
    }

    /// Notes that the peer was verified in this handshake.
    pub(crate) fn verified(&mut self, peer: PeerIdentity, by: VerifierDigest, now: Time) {
        self.peer = Some(peer);
        self.accepted_by = Some(by);
        self.authenticated_at = now.on(self.is_monotonic).map(|now| now.as_secs());
    }
}
