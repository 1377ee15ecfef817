//! The slab that holds a connection's traffic secrets, and its exporter's.

use alloc::boxed::Box;

use zeroize::Zeroize;

use super::label::{KeyDerivation, Label};
use crate::crypto::{HmacState, SecretBlock};

/// The secrets of a connection, in one allocation: each is derived into its block and wiped there, and none is moved.
pub(super) struct Slab {
    blocks: [SecretBlock; 4],
    /// A bit for each block that holds a secret.
    filled: u8,
}

/// A block of the slab, by what is in it.
#[derive(Clone, Copy)]
pub(super) enum Block {
    /// The client's handshake traffic secret, until the handshake ends; with KEM authentication, then that of the
    /// authenticated handshake, until the Master Secret.
    ClientHandshake = 0,
    /// The same of the server, until its Finished; then the exporter's.
    ServerHandshakeOrExporter = 1,
    /// The client's application traffic secret.
    ClientApplication = 2,
    /// The server's application traffic secret.
    ServerApplication = 3,
}

impl Slab {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self { blocks: [SecretBlock::UNFILLED; 4], filled: 0 })
    }

    /// Borrows the secret in a block; `None` if there is none, or if it was wiped.
    pub(super) fn find(&self, kdf: KeyDerivation, block: Block) -> Option<&[u8]> {
        let is_filled = self.filled & block.bit() != 0;
        is_filled.then_some(&self.blocks[block as usize].0[..kdf.hash.len()])
    }

    /// Borrows the secret in a block that its type has filled.
    pub(super) fn get(&self, kdf: KeyDerivation, block: Block) -> &[u8] {
        debug_assert!(self.filled & block.bit() != 0, "a block without a secret");
        &self.blocks[block as usize].0[..kdf.hash.len()]
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
        let out = &mut self.blocks[block as usize].0[..kdf.hash.len()];
        kdf.expand_label(from, label, context, out);
        self.filled |= block.bit();
    }

    /// Copies a secret of a hash's length into a block.
    pub(super) fn copy(&mut self, kdf: KeyDerivation, block: Block, secret: &[u8]) {
        self.blocks[block as usize].0[..kdf.hash.len()].copy_from_slice(secret);
        self.filled |= block.bit();
    }

    /// Wipes a block whose secret has ended.
    pub(super) fn wipe(&mut self, block: Block) {
        self.blocks[block as usize].zeroize();
        self.filled &= !block.bit();
    }
}

impl Block {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.blocks.zeroize();
    }
}
