//! The secrets of a connection after its handshake (RFC 8446 §7.2, §7.5).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::exporter::ExporterSecret;
use super::label::{KeyDerivation, Label};
use super::slab::{Block, Slab};
use super::traffic::TrafficSecret;
use crate::crypto::HmacState;
use crate::role::Role;
use crate::wire::{Reader, Writer};

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
    /// Appends them; there must be room.
    pub(crate) fn write(&self, kdf: KeyDerivation, out: &mut Vec<u8>) {
        for block in APPLICATION {
            out.vec8(|out| out.bytes(self.0.find(kdf, block).unwrap_or_default()));
        }
    }

    /// Reads them.
    pub(crate) fn read(kdf: KeyDerivation, reader: &mut Reader<'_>) -> Option<Self> {
        let mut slab = Slab::new();
        for block in APPLICATION {
            let secret = reader.vec8().ok().filter(|secret| secret.len() == kdf.hash.len())?;
            slab.copy(kdf, block, secret);
        }
        Some(Self(slab))
    }

    /// Returns them to use.
    pub(crate) fn wake(self, kdf: KeyDerivation) -> ApplicationSecrets {
        ApplicationSecrets { kdf, slab: self.0 }
    }
}

/// What an open connection has.
const APPLICATION: [Block; 3] =
    [Block::ServerHandshakeOrExporter, Block::ClientApplication, Block::ServerApplication];

fn block_of(sender: Role) -> Block {
    match sender {
        Role::Client => Block::ClientApplication,
        Role::Server => Block::ServerApplication,
    }
}
