//! What carries a connection; its sessions are valid only there.

use crate::code_point::code_points;

code_points! {
    /// What carries the connections of a session. A session resumes only over its own carrier: over
    /// another, the same secrets would be used with other labels and other rules.
    ///
    /// The number is in stored sessions and sealed tickets, never on the wire. Values from 128 are for faces outside
    /// this crate.
    Carrier(u8) {
        /// A stream such as TCP: TLS.
        STREAM = 0,
        /// Datagrams such as UDP's: DTLS.
        DATAGRAM = 1,
    }
}
