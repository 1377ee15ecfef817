//! The secrets of a connection after its handshake (RFC 8446 §7.2, §7.5).

use alloc::boxed::Box;

use super::exporter::ExporterSecret;
use super::label::{KeyDerivation, Label};
use super::slab::{Block, Slab};
use super::traffic::TrafficSecret;
use crate::crypto::HmacState;
use crate::role::Role;

/// Each direction's traffic secret until that direction ends, and the exporter's until both have ended.
pub(crate) struct ApplicationSecrets {
    kdf: KeyDerivation,
    slab: Box<Slab>,
    client_ended: bool,
    server_ended: bool,
}

impl ApplicationSecrets {
    pub(super) fn new(kdf: KeyDerivation, mut slab: Box<Slab>) -> Self {
        slab.wipe(Block::ClientHandshake);
        Self { kdf, slab, client_ended: false, server_ended: false }
    }

    /// Returns the traffic secret of what this side sends.
    pub(crate) fn traffic(&self, sender: Role) -> Option<TrafficSecret<'_>> {
        let secret = self.slab.get(self.kdf, block_of(sender));
        (!self.has_ended(sender)).then_some(TrafficSecret::new(self.kdf, secret))
    }

    /// Replaces the traffic secret of what this side sends by the next (KeyUpdate), and returns it.
    pub(crate) fn update(&mut self, sender: Role) -> Option<TrafficSecret<'_>> {
        let kdf = self.kdf;
        let mut present = HmacState::default();
        kdf.hash.key_hmac(self.traffic(sender)?.expose(), &mut present);
        self.slab.derive(kdf, block_of(sender), &present, Label::TRAFFIC_UPDATE, &[]);
        self.traffic(sender)
    }

    /// Returns exporter_master_secret; `None` once both directions have ended.
    pub(crate) fn exporter(&self) -> Option<ExporterSecret<'_>> {
        let secret = self.slab.get(self.kdf, Block::ServerHandshakeOrExporter);
        let has_ended = self.client_ended && self.server_ended;
        (!has_ended).then_some(ExporterSecret::new(self.kdf, secret))
    }

    /// Wipes the secret of what this side sends, and after both the exporter's.
    pub(crate) fn end(&mut self, sender: Role) {
        self.slab.wipe(block_of(sender));
        match sender {
            Role::Client => self.client_ended = true,
            Role::Server => self.server_ended = true,
        }
        if self.client_ended && self.server_ended {
            self.slab.wipe(Block::ServerHandshakeOrExporter);
        }
    }

    fn has_ended(&self, sender: Role) -> bool {
        match sender {
            Role::Client => self.client_ended,
            Role::Server => self.server_ended,
        }
    }
}

fn block_of(sender: Role) -> Block {
    match sender {
        Role::Client => Block::Client,
        Role::Server => Block::Server,
    }
}
