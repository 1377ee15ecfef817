//! The name of a forward-secret flight, as forward_secret_receipts carries it.

use core::fmt;

/// The name of a forward-secret flight.
///
/// Known only to both ends until the client asks about it: it comes from the exporter
/// of the connection that issued the ticket (docs/0rtt-fs.md, section 4.1). The vault finds the
/// one-time secret by it. An application that must execute a flight exactly once stores it in the same
/// transaction as the effect; a client keeps it for as long as it may have to ask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlightHandle(pub [u8; FlightHandle::LEN]);

impl FlightHandle {
    /// Its length in bytes.
    pub const LEN: usize = 32;
}

/// A party that knows a handle can have its key burned, so it must not be logged.
impl fmt::Debug for FlightHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FlightHandle(..)")
    }
}
