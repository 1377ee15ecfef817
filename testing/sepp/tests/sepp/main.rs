//! SEPPs as processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod early;
mod fleet;
mod killed;
mod programs;
mod reach;
mod relay;
mod reloaded;
mod strangers;

/// The program under test.
const SEPP: &str = env!("CARGO_BIN_EXE_sepp-under-test");
