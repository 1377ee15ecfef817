//! What is specific to one association.

use alloc::vec::Vec;
use core::time::Duration;

use super::{ResetToken, ServerAddress, connection_id, reset, return_routability, server_address};
use crate::address_prefix::AddressPrefix;
use crate::connection_id::ConnectionId;
use crate::record::{Datagrams, SHORTEST_DATAGRAM};
use crate::role::Role;
use crate::wire::OpaqueExtension;

/// What is specific to one association.
#[derive(Debug, Clone)]
pub struct AssociationOptions {
    /// The connection ID that the peer puts into records to this side. Empty, and by default: none, but the peer may
    /// have one (RFC 9147 §5.1). `None`: no connection IDs in either direction.
    pub connection_id: Option<ConnectionId>,
    /// At a server with connection IDs: what the client gets to recognize a reset by
    /// ([`ResetToken::write_reset`]). Default: none.
    pub reset_token: Option<ResetToken>,
    /// Whether this side agrees on return routability checks (RFC 9853), if there are connection IDs. Without them an
    /// address to which a client moves is never proved, and gets three times what comes from there. Default: yes.
    pub checks_paths: bool,
    /// At a server with connection IDs, empty ones included: the socket that it has for this association alone, which it
    /// announces to a client that follows. Default: none.
    pub server_address: Option<ServerAddress>,
    /// At a client with connection IDs: it follows its server to a socket of the association's own
    /// ([`server_address`](super::Association::server_address)), at the address that it uses or at one with these
    /// prefixes; any other ends the handshake. `None`, by default: it doesn't.
    pub follows_to: Option<Vec<AddressPrefix>>,
    /// How long to wait for the answer to the first flight before it is sent again. Default: 1 s. If the round-trip
    /// time is known, one and a half times that is better (RFC 9147 §5.8.2).
    pub first_timeout: Duration,
    /// Whether the round-trip time replaces `first_timeout` once it is measured (RFC 9147 §5.8.2). Default: yes.
    /// Otherwise the answer to each flight has `first_timeout` at first: for peers whose round trips are no guide, as
    /// those of devices that sleep.
    pub measures_round_trips: bool,
    /// The longest datagram to send, in bytes, without the headers of UDP and IP. Each timeout of the handshake but the
    /// first makes it shorter: 548, the minimum of IPv4, and then halves. Default: 1200.
    pub max_datagram: usize,
    /// How many records of a flight are sent at once, before an ACK or a timeout: RFC 9147 §5.8.3 warns of more than
    /// 10, the default.
    pub max_burst: u8,
    /// Whether records of data have a length, so that others can follow them in their datagram. Default: no.
    pub delimits_data: bool,
}

impl AssociationOptions {
    /// The least [`max_datagram`](Self::max_datagram), in bytes: less counts as this. It has no room for a long
    /// connection ID of the peer.
    pub const SHORTEST_DATAGRAM: usize = SHORTEST_DATAGRAM;

    /// Returns the extensions about addresses: connection_id, and with it rrc (RFC 9853 §3), reset_token and
    /// server_address.
    pub(super) fn extensions(&self, role: Role) -> Vec<OpaqueExtension> {
        let Some(id) = &self.connection_id else { return Vec::new() };
        let checks = self.checks_paths.then(return_routability::extension);
        let reset = reset::extension(role, self.reset_token.as_ref());
        let follows = self.follows_to.is_some();
        let address = server_address::extension(role, follows, self.server_address.as_ref());
        let others = checks.into_iter().chain(reset).chain(address);
        [connection_id::extension(id)].into_iter().chain(others).collect()
    }

    /// Returns the record layer of an association.
    pub(super) fn datagrams(&self, role: Role) -> Datagrams {
        let Self { first_timeout, measures_round_trips, max_datagram, max_burst, .. } = *self;
        let mut datagrams =
            Datagrams::new(role, first_timeout, measures_round_trips, max_datagram, max_burst);
        datagrams.delimits_data = self.delimits_data;
        datagrams
    }
}

impl Default for AssociationOptions {
    fn default() -> Self {
        Self {
            connection_id: Some(ConnectionId::default()),
            reset_token: None,
            checks_paths: true,
            server_address: None,
            follows_to: None,
            first_timeout: Duration::from_secs(1),
            measures_round_trips: true,
            max_datagram: 1200,
            max_burst: 10,
            delimits_data: false,
        }
    }
}
