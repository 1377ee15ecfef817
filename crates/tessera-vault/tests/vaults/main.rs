//! Vaults, rings and registers: their guarantees across restarts, crashes, copies and floods.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

mod fair;
mod flaws;
mod key;
mod lives;
mod moving;
mod register;
mod ring;
mod sites;
mod state;
mod vault;
mod witness;
