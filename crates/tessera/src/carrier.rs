//! What carries a connection, and with it what its sessions are good for.

use crate::code_point::code_points;

code_points! {
    /// What carries the connections of a session. A session resumes over its own carrier only: over
    /// another the same secrets would stand under other labels and other rules.
    ///
    /// The number stands in stored sessions and sealed tickets, never on the wire. Those from 128 on are for faces outside
    /// of this crate.
    Carrier(u8) {
        /// A stream, as TCP is: TLS.
        STREAM = 0,
    }
}
