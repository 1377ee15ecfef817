//! What an endpoint keeps of each association.

use std::time::Duration;

use tessera::{PathMessage, ServerAssociation};

use super::own_sockets::OwnSocket;
use crate::budget::Budget;
use crate::path::{Path, Source};
use crate::peer_path::PeerPath;

/// An association of an endpoint.
pub(super) struct Entry {
    pub(super) association: ServerAssociation,
    pub(super) peer: PeerPath,
    /// Where the handshake began: the association counts there, wherever it moves.
    pub(super) source: Source,
    pub(super) own: Option<Box<OwnSocket>>,
    /// Bytes from the peer, and to it.
    pub(super) received: u64,
    pub(super) sent: u64,
    /// The ClientHello, while a question about it is open and its address may turn out to need a cookie.
    pub(super) hello: Option<Box<[u8]>>,
    /// It is one of the endpoint's `unproved`.
    pub(super) is_unproved: bool,
    pub(super) is_ready: bool,
    pub(super) has_failed: bool,
    pub(super) deadline: Option<Duration>,
    /// How many bytes had come and gone when it was last seen without a deadline of its own.
    pub(super) seen: u64,
}

impl Entry {
    pub(super) fn new(association: ServerAssociation, path: Path, budget: Budget) -> Self {
        Self {
            association,
            peer: PeerPath::new(path, budget),
            source: path.source(),
            own: None,
            received: 0,
            sent: 0,
            hello: None,
            is_unproved: false,
            is_ready: false,
            has_failed: false,
            deadline: None,
            seen: 0,
        }
    }

    /// Creates one that another endpoint had.
    pub(super) fn restored(
        association: ServerAssociation,
        peer: PeerPath,
        source: Source,
        [received, sent]: [u64; 2],
    ) -> Self {
        let path = peer.current();
        Self { peer, source, received, sent, ..Self::new(association, path, Budget::Proved) }
    }

    /// Returns whether nothing has come or gone since it was last asked.
    pub(super) fn was_quiet(&mut self) -> bool {
        let bytes = self.received + self.sent;
        std::mem::replace(&mut self.seen, bytes) == bytes
    }

    /// Returns where datagrams without a connection ID lead to it at the shared socket.
    pub(super) fn shared_path(&self) -> Path {
        self.own.as_ref().map_or(self.peer.current(), |own| own.began)
    }

    /// Returns whether the peer may be followed to this path: there, too, its records lead to the association.
    pub(super) fn is_led_to_from(&self, path: &Path) -> bool {
        match &self.own {
            Some(own) => path.local == Some(own.local) || own.is_announced && *path == own.began,
            None => self.association.connection_id().is_some(),
        }
    }

    /// Returns the length of a datagram with a message of a return routability check.
    pub(super) fn path_message_len(&self) -> usize {
        self.association.datagram_len(PathMessage::LEN)
    }

    pub(super) fn count_sent(&mut self, bytes: usize) {
        self.peer.send(bytes);
        self.sent += bytes as u64;
    }
}
