//! The handshake suites once more, over messages by epoch, in a protocol with other labels, versions and rules
//! than TLS's: no legacy_session_id, no EndOfEarlyData, no records.

mod suites;
