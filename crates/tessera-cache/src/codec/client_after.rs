//! A client's end when its handshake is complete, and the server's is not: what the server makes of it.

use alloc::sync::Arc;

use tessera::auth::AfterHandshake;

use crate::client::{ClientCache, Key};

/// Of a connection in which this side's chain was sent as a hash.
pub(super) struct ClientAfter {
    pub(super) cache: Arc<ClientCache>,
    pub(super) key: Key,
}

impl AfterHandshake for ClientAfter {
    fn refused(&mut self) {
        self.cache.refused(&self.key);
    }
}
