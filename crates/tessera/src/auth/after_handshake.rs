//! What certificate codecs hear and say after the handshake.

use crate::time::Time;
use crate::wire::AlertDescription;

/// What is left of a client's codec when its handshake is complete: it hears what the server makes of the
/// client's last flight, and of tickets. A codec gives it in [`after`](super::CertificateCodec::after); it is
/// dropped with the connection, or earlier ([`accepted`](Self::accepted)).
pub trait AfterHandshake: Send + Sync {
    /// The server accepted what the client's last flight said: the first that came under application keys is
    /// data or a NewSessionTicket. Called at most once, and then [`refused`](Self::refused) is not. Data say less
    /// than a ticket: a server may send them before it has read the client's flight (RFC 8446 §4.4.4). The answer is
    /// whether tickets are of interest; otherwise this is dropped. Default: they are not.
    fn accepted(&mut self) -> bool {
        false
    }

    /// The server ended the connection with this fatal alert before it sent anything else under application
    /// keys: it refused what the client's last flight said, or couldn't read it. The alert is the server's, but
    /// whoever is on the path can make it say bad_record_mac or unexpected_message, by changing that flight. A
    /// connection that ends without an alert tells nothing. Called at most once, and last. Default: nothing is done.
    fn refused(&mut self, alert: AlertDescription) {
        let _ = alert;
    }

    /// A NewSessionTicket came with an extension of the type of the codec's
    /// [`extension`](super::CertificateCodec::extension), and with this body. The server is authenticated. A body
    /// that can't be read is to be ignored, as an extension that nobody recognises is (RFC 8446 §4.6.1).
    /// Default: it is ignored.
    fn ticket(&mut self, body: &[u8]) {
        let _ = body;
    }
}

/// A NewSessionTicket that a server is about to send.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct NextTicket {
    /// Which of this connection's it is, from 0.
    pub number: u8,
    /// How many this connection gives; fewer are sent only if something fails.
    pub count: u8,
    /// Its lifetime in seconds.
    pub lifetime: u32,
    /// Now.
    pub now: Time,
}

impl NextTicket {
    /// A connection's only one. The engine makes those of connections; this is for tests of codecs.
    pub fn new(lifetime: u32, now: Time) -> Self {
        Self { number: 0, count: 1, lifetime, now }
    }
}
