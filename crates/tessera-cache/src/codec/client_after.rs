//! What a client hears when its own handshake is complete: what the server makes of its chain, and fleet tickets.

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
    /// This side's chain that tickets are for, where fleet tickets may come.
    pub(super) own: Option<ChainHash>,
}

/// What a server says of a chain that came as a hash: that the proof is not of it, or that nothing can be made of it.
/// Other alerts tell the reason, or that what came is not what was sent: whoever is on the path can bring that about.
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
