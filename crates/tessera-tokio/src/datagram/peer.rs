//! What a connection's user sees of its association.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::{Error, Facts};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::inbox::{Inbox, InboxRoom, ReceivedDatagram};
use crate::async_handshake::AsyncHandshake;
use crate::current::InitialConfig;
use crate::error::wrap;
use crate::sessions::SessionWriter;

/// The other end of an association: what came from it, and how the association stands.
pub(super) struct Peer<S: AsyncHandshake> {
    pub(super) inbox: Inbox<ReceivedDatagram>,
    /// When the association began.
    pub(super) started: Instant,
    /// Where it was last.
    pub(super) address: Option<SocketAddr>,
    /// Wakes the futures that wait for a change.
    pub(super) changed: Arc<Notify>,
    /// The configuration, and whether it is still current.
    pub(super) begun: InitialConfig<S::Config>,
    pub(super) session_writer: SessionWriter,
    /// Answers the open question.
    pub(super) question: Option<AbortHandle>,
    /// It was handed to a user, or waits to be accepted.
    pub(super) is_open: bool,
    pub(super) has_user: bool,
    pub(super) is_complete: bool,
    /// How long the handshake took, unless an earlier process made it.
    pub(super) handshake_time: Option<Duration>,
    /// It sends nothing more.
    pub(super) has_closed: bool,
    pub(super) failed: Option<Box<FailedAssociation>>,
}

/// Why an association failed, and what was known of it, since the endpoint has forgotten it.
pub(super) struct FailedAssociation {
    pub(super) failure: Failure,
    pub(super) known: Known,
}

/// What is known of an association.
#[derive(Default)]
pub struct Known {
    pub(super) facts: Facts,
    /// How many bytes were received, and how many sent.
    pub(super) bytes: [u64; 2],
}

/// Why a connection failed.
#[derive(Clone)]
pub(super) enum Failure {
    Engine(Error),
    Socket(io::ErrorKind),
    /// It has moved to another process.
    MovedOut,
}

impl Failure {
    pub(super) fn to_io(&self) -> io::Error {
        match self {
            Self::Engine(error) => wrap(error.clone()),
            Self::Socket(kind) => (*kind).into(),
            Self::MovedOut => {
                io::Error::new(io::ErrorKind::NotConnected, "the association has moved out")
            }
        }
    }
}

impl<S: AsyncHandshake> Peer<S> {
    pub(super) fn new(
        begun: InitialConfig<S::Config>,
        session_writer: SessionWriter,
        room: InboxRoom,
    ) -> Self {
        Self {
            inbox: Inbox::new(room),
            started: Instant::now(),
            address: None,
            changed: Arc::default(),
            begun,
            session_writer,
            question: None,
            is_open: false,
            has_user: false,
            is_complete: false,
            handshake_time: None,
            has_closed: false,
            failed: None,
        }
    }

    /// Keeps why it failed; what was received before may still be read.
    pub(super) fn fail(&mut self, failure: Failure, known: Known) {
        self.failed.get_or_insert_with(|| Box::new(FailedAssociation { failure, known }));
        self.drop_question();
        self.changed.notify_waiters();
    }

    fn drop_question(&mut self) {
        if let Some(question) = self.question.take() {
            question.abort();
        }
    }
}

/// An answer belongs to its connection.
impl<S: AsyncHandshake> Drop for Peer<S> {
    fn drop(&mut self) {
        self.drop_question();
    }
}
