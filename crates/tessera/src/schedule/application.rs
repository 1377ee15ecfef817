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
}

impl ApplicationSecrets {
    pub(super) fn new(kdf: KeyDerivation, mut slab: Box<Slab>) -> Self {
        slab.wipe(Block::ClientHandshake);
        Self { kdf, slab }
    }

    /// Keeps them without what is known otherwise.
    pub(crate) fn idle(self) -> IdleSecrets {
        IdleSecrets(self.slab)
    }

    /// Borrows the traffic secret of what `sender` sends; `None` once it has ended.
    pub(crate) fn traffic(&self, sender: Role) -> Option<TrafficSecret<'_>> {
        let secret = self.slab.find(self.kdf, block_of(sender))?;
        Some(TrafficSecret::new(self.kdf, secret))
    }

    /// Replaces the traffic secret of what `sender` sends by the next (KeyUpdate), and borrows that.
    pub(crate) fn update(&mut self, sender: Role) -> Option<TrafficSecret<'_>> {
        let kdf = self.kdf;
        let mut present = HmacState::default();
        kdf.hash.key_hmac(self.traffic(sender)?.expose(), &mut present);
        self.slab.derive(kdf, block_of(sender), &present, Label::TRAFFIC_UPDATE, &[]);
        self.traffic(sender)
    }

    /// Borrows exporter_master_secret; `None` once both directions have ended.
    pub(crate) fn exporter(&self) -> Option<ExporterSecret<'_>> {
        let secret = self.slab.find(self.kdf, Block::ServerHandshakeOrExporter)?;
        Some(ExporterSecret::new(self.kdf, secret))
    }

    /// Wipes the secret of what `sender` sends, and after both the exporter's.
    pub(crate) fn end(&mut self, sender: Role) {
        self.slab.wipe(block_of(sender));
        if self.traffic(sender.peer()).is_none() {
            self.slab.wipe(Block::ServerHandshakeOrExporter);
        }
    }
}

/// The secrets of an association that is idle: how they are derived is known from its suite.
pub(crate) struct IdleSecrets(Box<Slab>);

impl IdleSecrets {
    /// Returns them to use.
    pub(crate) fn wake(self, kdf: KeyDerivation) -> ApplicationSecrets {
        ApplicationSecrets { kdf, slab: self.0 }
    }
}

fn block_of(sender: Role) -> Block {
    match sender {
        Role::Client => Block::ClientApplication,
        Role::Server => Block::ServerApplication,
    }
}
