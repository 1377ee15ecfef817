//! What certificate codecs observe and send after the handshake.

use alloc::boxed::Box;

use crate::time::Time;
use crate::wire::{AlertDescription, OpaqueExtension};

/// What a codec returns when the handshake is complete.
#[derive(Default)]
pub struct CodecOutcome {
    /// A word for why this codec didn't encode this side's Certificate, for the connection's facts; `None` if it did
    /// or has nothing to report.
    pub own_missed: Option<&'static str>,
    /// Likewise why the peer didn't send its Certificate in one of this codec's forms.
    pub peer_missed: Option<&'static str>,
    /// What remains of the codec.
    pub after: Option<Box<dyn AfterHandshake>>,
}

/// What remains of a codec when the handshake is complete. A server's extends tickets, and is dropped when they are
/// sent. A client's learns how the server received its last flight, and receives tickets; it is dropped with the
/// connection, or earlier ([`accepted`](Self::accepted)).
pub trait AfterHandshake: Send + Sync {
    /// Returns, on a server, one extension for the next NewSessionTicket. Default: none.
    ///
    /// Called for each ticket of the handshake. The rules of
    /// [`CertificateCodec::extensions`](super::CertificateCodec::extensions) hold for its type, and the client need
    /// not have sent that type: one that doesn't recognise it ignores it (RFC 8446 §4.6.1).
    fn ticket_extension(&mut self, next: &NextTicket) -> Option<OpaqueExtension> {
        let _ = next;
        None
    }

    /// Called when the server accepted the client's last flight; returns whether this wants tickets.
    ///
    /// The first message under application keys is data or a NewSessionTicket. Data is weaker evidence than a ticket:
    /// a server may send it before it has read the client's flight (RFC 8446 §4.4.4). Called at most once, and then
    /// [`refused`](Self::refused) is not. If it returns `false`, the default, it is dropped.
    fn accepted(&mut self) -> bool {
        false
    }

    /// Called when the server refused the client's last flight, or couldn't read it, with its fatal alert.
    ///
    /// The server ended the connection before it sent anything else under application keys. The alert is the
    /// server's, but an attacker on the path can cause bad_record_mac or unexpected_message by changing that flight. A
    /// connection that ends without an alert proves nothing. Called at most once, and last. Default: does nothing.
    fn refused(&mut self, alert: AlertDescription) {
        let _ = alert;
    }

    /// Receives the body of a NewSessionTicket's extension of the type of the codec's first
    /// [extension](super::CertificateCodec::extensions) of the ClientHello. The server is authenticated. Ignore a
    /// body that can't be read, like an unrecognised extension (RFC 8446 §4.6.1). Default: ignored.
    fn ticket(&mut self, body: &[u8]) {
        let _ = body;
    }
}

/// A NewSessionTicket that a server is about to send.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NextTicket {
    /// The ticket's number on this connection, from 0.
    pub number: u8,
    /// How many tickets this connection sends; fewer only if something fails.
    pub count: u8,
    /// Its lifetime in seconds.
    pub lifetime: u32,
    /// The current time.
    pub now: Time,
}

impl NextTicket {
    /// Creates the only ticket of a connection, for tests of codecs; the engine makes those of real connections.
    pub fn new(lifetime: u32, now: Time) -> Self {
        Self { number: 0, count: 1, lifetime, now }
    }
}
