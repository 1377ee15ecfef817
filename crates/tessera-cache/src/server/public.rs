//! Clients that don't take part, for ids that everybody can recognise.

use alloc::collections::VecDeque;

use super::store::Remembered;
use crate::chain_hash::ChainHash;

/// The clients that were here last, each by the hash of its chain.
#[derive(Default)]
pub(super) struct Public(VecDeque<(ChainHash, Remembered)>);

/// How many: compress_certificate names 127 algorithms (RFC 8879 §3), and one is left for compression.
const CLIENTS: usize = 126;

impl Public {
    pub(super) fn learn(&mut self, hash: ChainHash, peer: Remembered) {
        self.0.retain(|(known, _)| *known != hash);
        self.0.truncate(CLIENTS - 1);
        self.0.push_front((hash, peer));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(ChainHash, Remembered)> {
        self.0.iter()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Remembered) -> bool) {
        self.0.retain(|(_, peer)| keep(peer));
    }
}
