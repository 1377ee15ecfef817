//! What a connection hands on to the sessions that come of it, on either side.

use alloc::string::String;
use alloc::vec::Vec;

use crate::auth::PeerIdentity;
use crate::carrier::Carrier;
use crate::crypto::{Secret, Suite};
use crate::resume::{Ancestry, Companion, SessionState};
use crate::time::Time;
use crate::wire::NamedGroup;

/// Who the peer is and how strong the connection, from this handshake or from the one that began the
/// chain of resumptions.
pub(crate) struct Lineage {
    pub(crate) protocol: Option<Vec<u8>>,
    pub(crate) server_name: Option<String>,
    pub(crate) peer: Option<PeerIdentity>,
    pub(crate) external_psk: Option<Vec<u8>>,
    /// When the last full handshake of the chain was, in seconds since the Unix epoch.
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
}

impl Lineage {
    /// Of a connection of which nothing more is known.
    pub(crate) fn over(carrier: Carrier) -> Self {
        Self {
            protocol: None,
            server_name: None,
            peer: None,
            external_psk: None,
            authenticated_at: None,
            ancestry: None,
            carrier,
        }
    }

    /// Takes over what a session holds, if one is resumed.
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
                self.external_psk = session.external_psk.clone();
                self.authenticated_at = Some(session.authenticated_at);
                session.ancestry.resumed(group, one_time_key)
            }
        });
    }

    /// The session of one ticket, issued now.
    pub(crate) fn session(
        &self,
        suite: &Suite,
        psk: Secret,
        scope: Vec<u8>,
        ticket: TicketTerms,
        unix: core::time::Duration,
    ) -> SessionState {
        SessionState {
            suite: suite.id,
            psk,
            protocol: self.protocol.clone(),
            server_name: self.server_name.clone(),
            peer: self.peer.clone(),
            external_psk: self.external_psk.clone(),
            authenticated_at: self.authenticated_at.unwrap_or(unix.as_secs()),
            scope,
            ancestry: self.ancestry.unwrap_or(Ancestry::PskOnly),
            issued_at: unix.as_millis() as u64,
            lifetime: ticket.lifetime,
            age_add: ticket.age_add,
            max_early_data_size: ticket.max_early_data_size,
            companion: ticket.companion,
            carrier: self.carrier,
        }
    }

    /// The peer was verified in this very handshake.
    pub(crate) fn verified(&mut self, peer: PeerIdentity, now: Time) {
        self.peer = Some(peer);
        self.authenticated_at = now.unix_secs();
    }
}
