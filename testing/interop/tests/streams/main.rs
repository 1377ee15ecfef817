//! Tessera's streams on tokio against those of other stacks, in both roles.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod openssl;
mod rustls;
mod talk;

use std::sync::Arc;

use tessera_interop::{Identity, KeyKind, Pki};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};

/// An authority, and Tessera's ends.
struct World {
    pki: Pki,
    identity: Identity,
    connector: Connector,
    acceptor: Acceptor,
}

impl World {
    fn new() -> Self {
        let pki = Pki::new();
        let identity = pki.server(KeyKind::P256);
        let connector = Connector::new(tessera_interop::client(&pki).checked().unwrap())
            .with_sessions(Arc::new(MemorySessionStore::default()));
        let acceptor = Acceptor::new(tessera_interop::server(&identity).checked().unwrap());
        Self { pki, identity, connector, acceptor }
    }
}
