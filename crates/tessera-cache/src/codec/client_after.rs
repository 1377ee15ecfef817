//! What a client learns after its own handshake is complete: the server's verdict on its chain, and fleet
//! tickets.

use alloc::sync::Arc;

use tessera::auth::AfterHandshake;
use tessera::wire::AlertDescription;

use crate::chain_hash::ChainHash;
use crate::client::{ClientCache, Key};
use crate::wire::FleetTicket;

pub(super) struct ClientAfter {
    pub(super) cache: Arc<ClientCache>,
    pub(super) key: Key,
    /// Whether this side's chain was sent as a hash.
    pub(super) sent_cached: bool,
    /// This side's chain that fleet tickets are for, if they may arrive.
    pub(super) own: Option<ChainHash>,
}

/// A server's alerts about a chain sent as a hash: the proof doesn't match it, or the chain is unusable.
/// Other alerts state the reason, or that data was changed in transit, which an attacker on the path can
/// cause.
const OF_A_CHAIN: [AlertDescription; 2] =
    [AlertDescription::DECRYPT_ERROR, AlertDescription::BAD_CERTIFICATE];

impl AfterHandshake for ClientAfter {
    fn accepted(&mut self) -> bool {
        self.own.is_some()
    }

    fn refused(&mut self, alert: AlertDescription) {
        if self.sent_cached && OF_A_CHAIN.contains(&alert) {
            self.cache.refused(&self.key);
        }
    }

    fn ticket(&mut self, body: &[u8]) {
        if let Some((own, ticket)) = self.own.zip(FleetTicket::read(body)) {
            self.cache.learn_fleet_ticket(&self.key, own, ticket);
        }
    }
}
