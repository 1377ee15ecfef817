//! What became of datagrams.

/// Datagrams without an association, by what became of them, since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointCounts {
    /// A ClientHello was answered with a HelloRetryRequest.
    pub cookies_sent: u64,
    /// A ClientHello had a cookie that was sealed for its address, and in time.
    pub cookies_opened: u64,
    /// Its cookie was another, or too old.
    pub cookies_refused: u64,
    /// A ClientHello could not be answered.
    pub refused_hellos: u64,
    /// A part of a ClientHello was kept.
    pub kept_parts: u64,
    /// A ClientHello of which a part was missing made room for others, or repeated its parts too often.
    pub dropped_hellos: u64,
    /// A limit of associations was reached.
    pub full: u64,
    /// A record of no association that is known here.
    pub unknown: u64,
    /// Such a record was answered with a reset.
    pub resets_sent: u64,
    /// Not DTLS 1.3.
    pub foreign: u64,
    /// An association shares the socket that should have its own: a limit was reached, or no socket was left.
    pub without_socket: u64,
    /// Associations moved to another address.
    pub moved: u64,
    /// The client answered from the address to which it had moved.
    pub paths_proved: u64,
    /// It didn't, or it answered at the address before: the association moved back.
    pub paths_refuted: u64,
}
