//! Who peers are, over real handshakes: at the first connection, and when they come back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod full;
mod known;
mod listeners;
mod modes;
mod reloads;
mod resumed;
mod world;
