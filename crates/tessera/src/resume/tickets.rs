//! The questions about resumption, and the interface to the ticket keys.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::psk::PskKind;
use super::session::SessionState;
use crate::auth::PeerIdentity;
use crate::question::{Question, Reply};

/// Seals sessions into tickets and opens them. `tessera-vault` has the ring that several
/// servers share.
pub trait TicketKeys: Send + Sync {
    /// Seals a session at `unix`. `None` without a key to seal with: the client gets no
    /// ticket, and the handshake does not fail.
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>>;

    /// Opens a ticket, now or later; `None` for an identity that is no ticket of these keys.
    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>>;

    /// Seals, at `unix`, something other than a session, for a client to keep for all servers with these keys.
    ///
    /// It opens for the same purpose alone, and never as a ticket; nor does a ticket open for any purpose. `None`,
    /// the default, without a key to seal with, or if the purpose is empty.
    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        let _ = (purpose, contents, unix);
        None
    }

    /// Opens, at `unix`, what [`seal_for`](Self::seal_for) sealed for this purpose; `None` for anything else.
    /// Default: `None`.
    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        let _ = (purpose, sealed, unix);
        None
    }
}

/// The question which session an identity stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenTicket {
    /// The identity as the client sent it, or the sealed ticket in a lone forward-secret one
    /// ([`OneTimeKeyGuard::lone_identities`](super::OneTimeKeyGuard::lone_identities)).
    pub identity: Vec<u8>,
    /// The current time since the Unix epoch, if known.
    pub unix: Option<Duration>,
    /// The server_name of this connection, as the client sent it: for tickets of other servers that don't contain
    /// one. The engine resumes a session only under the server_name that it was opened with.
    pub server_name: Option<String>,
}

impl OpenTicket {
    /// Creates the question for an identity of a connection without server_name.
    pub fn new(identity: Vec<u8>, unix: Option<Duration>) -> Self {
        Self { identity, unix, server_name: None }
    }

    /// Sets the server_name of the connection.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }
}

/// The question whether a PSK may be used whose identity was opened and whose binder was right.
///
/// The engine has already checked suite, the verifier of the peer, policy epoch, scope, server_name, and the
/// ages of ticket, authentication and certificates. This is for what only the owner knows, such as a revoked
/// peer. For a lone forward-secret identity the proof was right; its binder is checked once
/// its key is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptResumption {
    /// Where the PSK comes from.
    pub kind: PskKind,
    /// The identity as the client sent it.
    pub identity: Vec<u8>,
    /// The binder, for owners that record ClientHellos.
    pub binder: Vec<u8>,
    /// The client as verified in the full handshake of the chain.
    pub peer: Option<PeerIdentity>,
    /// When that was, in seconds since the Unix epoch; `None` for external PSKs.
    pub authenticated_at: Option<u64>,
    /// The server_name of this connection.
    pub server_name: Option<String>,
    /// When the ticket was issued, since the Unix epoch; `None` for external PSKs.
    pub issued_at: Option<Duration>,
    /// Whether the handshake would continue without a key exchange (psk_ke).
    pub without_key_exchange: bool,
    /// Whether early data would come with it.
    pub early_data: bool,
    /// Whether that would be replayable (RFC 8446 §2.3). Otherwise it is forward-secret, and a vault returns its key
    /// once.
    pub replayable_early_data: bool,
}

impl Question for OpenTicket {
    type Answer = Option<SessionState>;
}

impl Question for AcceptResumption {
    type Answer = ResumptionVerdict;
}

/// Decides on resumptions, if the engine's own checks don't suffice.
pub trait ResumptionJudge: Send + Sync {
    /// Decides, now or later.
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict>;
}

/// The owner's decision on a resumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumptionVerdict {
    /// Resume.
    Accept,
    /// Resume, but without early data.
    AcceptWithoutEarlyData,
    /// Require a full handshake. The one-time key of a forward-secret flight is burned.
    Refuse,
}
