//! Pools of edge proxies as processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

mod cut_off;
mod envoy;
mod frozen;
mod killed;
mod load;
mod orchestrated;
mod programs;
mod replayed;
mod secrets;
mod smuggled;
mod stock;
mod upgraded;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_edge-under-test");
