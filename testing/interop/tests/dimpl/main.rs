//! DTLS 1.3 with dimpl as the peer, in both roles, in memory.
#![allow(clippy::unwrap_used, reason = "any failure here fails the test")]

mod handshakes;
mod peer;
