//! Where the traffic secrets of a connection are, and the exporter's.

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::label::{KeyDerivation, Label};
use crate::crypto::{HmacState, SecretBlock};

/// The secrets of a connection, in one allocation: each is derived into its block and wiped there, and none is moved.
pub(super) struct Slab([SecretBlock; 4]);

/// A block of the slab, by what is in it.
#[derive(Clone, Copy)]
pub(super) enum Block {
    /// The client's handshake traffic secret, until the handshake ends.
    ClientHandshake = 0,
    /// The server's handshake traffic secret, until its Finished; then the exporter's.
    ServerHandshakeOrExporter = 1,
    /// The client's application traffic secret.
    Client = 2,
    /// The server's application traffic secret.
    Server = 3,
}

impl Slab {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self([SecretBlock::UNFILLED; 4]))
    }

    /// Returns the secret in a block.
    pub(super) fn get(&self, kdf: KeyDerivation, block: Block) -> &[u8] {
        &self.0[block as usize].0[..kdf.hash.len()]
    }

    /// Derives a secret into a block, over whatever was there.
    pub(super) fn derive(
        &mut self,
        kdf: KeyDerivation,
        block: Block,
        from: &HmacState,
        label: Label,
        context: &[u8],
    ) {
        let out = &mut self.0[block as usize].0[..kdf.hash.len()];
        kdf.expand_label(from, label, context, out);
    }

    /// Wipes a block whose secret has ended.
    pub(super) fn wipe(&mut self, block: Block) {
        self.0[block as usize].zeroize();
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
