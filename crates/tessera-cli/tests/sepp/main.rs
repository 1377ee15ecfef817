//! `tessera sepp`, as its users start it.
#![cfg(feature = "sepp")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod broken;
mod demo;
#[allow(dead_code, reason = "of the tests of all commands")]
#[path = "../commands/document.rs"]
mod document;
#[allow(dead_code, reason = "of the tests of all commands")]
#[path = "../commands/program.rs"]
mod program;
mod relay;
mod reload;
#[allow(dead_code, reason = "of the tests of tunnels")]
#[path = "../tunnel/running.rs"]
mod running;
mod world;
