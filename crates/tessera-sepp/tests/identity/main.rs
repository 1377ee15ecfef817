//! Identities of peers, over real handshakes: on the first connection, and on resumption.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod full;
mod known;
mod listeners;
mod modes;
mod reloads;
mod resumed;
mod world;
