//! Sites that ask each other about secrets, over channels that work, lie and break.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::field_reassign_with_default)]

mod common;

mod channel;
mod flights;
mod hostile_homes;
mod hostile_peers;
mod moves;
mod processes;
