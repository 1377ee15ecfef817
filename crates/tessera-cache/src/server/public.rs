//! Clients that don't take part, for ids that everybody can recognise.

use alloc::collections::VecDeque;

use super::store::Remembered;
use crate::chain_hash::ChainHash;
use crate::form::Form;

/// The clients that were here last, each by the hash of its chain.
#[derive(Default)]
pub(super) struct Public(VecDeque<(ChainHash, Remembered)>);

/// How many: compress_certificate names 127 algorithms (RFC 8879 §3), and one is left for compression.
const CLIENTS: usize = 126;

/// The longest chain, in bytes: together they take at most two megabytes beside the limit of the others.
const LONGEST: usize = 16 << 10;

fn has_leaf_of(one: &Form, other: &Form) -> bool {
    match (one, other) {
        (Form::Whole(one), Form::Whole(other)) => one.leaf == other.leaf,
        _ => false,
    }
}

impl Public {
    /// What follows a leaf is its owner's choice: one chain is known of each, and none that is long.
    pub(super) fn learn(&mut self, hash: ChainHash, peer: Remembered) {
        if peer.form.bytes() > LONGEST {
            return;
        }
        self.0.retain(|(known, it)| *known != hash && !has_leaf_of(&it.form, &peer.form));
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
