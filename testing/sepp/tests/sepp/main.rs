//! SEPPs as processes.

mod early;
mod killed;
mod relay;
mod strangers;

/// The program under test.
const SEPP: &str = env!("CARGO_BIN_EXE_sepp-under-test");
