//! Clients that don't take part, for ids that every observer can recognise.

use alloc::collections::VecDeque;

use super::store::ClientEntry;
use crate::chain_hash::ChainHash;
use crate::form::Form;

/// The most recent clients.
#[derive(Default)]
pub(super) struct Public(VecDeque<PublicClient>);

/// A client with the hash of its chain.
#[derive(Clone)]
pub(crate) struct PublicClient {
    pub(crate) hash: ChainHash,
    pub(crate) peer: ClientEntry,
    /// This client's id was answered with another hash, maybe by a client whose chain has the same id: as
    /// long as that id is offered, the other client would be refused each time, and never be learned.
    pub(crate) disputed: bool,
}

/// Maximum number: compress_certificate names 127 algorithms (RFC 8879 §3), and one is left for compression.
pub(super) const CLIENTS: usize = 126;

/// The longest chain, in bytes: together they take at most two megabytes in addition to the other limits.
const LONGEST: usize = 16 << 10;

fn has_leaf_of(one: &Form, other: &Form) -> bool {
    match (one, other) {
        (Form::Whole(one), Form::Whole(other)) => one.leaf == other.leaf,
        _ => false,
    }
}

impl Public {
    /// Learns one chain per leaf, and none that is long, because the owner of a leaf can choose what follows
    /// it.
    pub(super) fn learn(&mut self, hash: ChainHash, peer: ClientEntry) {
        if peer.form.bytes() > LONGEST {
            return;
        }
        self.0.retain(|it| it.hash != hash && !has_leaf_of(&it.peer.form, &peer.form));
        self.0.truncate(CLIENTS - 1);
        self.0.push_front(PublicClient { hash, peer, disputed: false });
    }

    /// Notes that the id of the client with this chain was answered with another hash. It isn't offered until
    /// the client has connected again.
    pub(super) fn dispute(&mut self, hash: &ChainHash) {
        if let Some(client) = self.0.iter_mut().find(|client| client.hash == *hash) {
            client.disputed = true;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PublicClient> {
        self.0.iter()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&ClientEntry) -> bool) {
        self.0.retain(|client| keep(&client.peer));
    }
}
