//! Who peers are, over real handshakes: at the first connection, and when they come back.

mod full;
mod listeners;
mod modes;
mod pki;
mod reloads;
mod resumed;
mod world;
