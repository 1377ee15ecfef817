//! `tessera tunnel`, as its users start it.
#![cfg(feature = "tunnel")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod broken;
mod container;
mod demo;
#[allow(dead_code, reason = "of the tests of all commands")]
#[path = "../commands/document.rs"]
mod document;
mod ends;
mod page;
#[allow(dead_code, reason = "of the tests of all commands")]
#[path = "../commands/program.rs"]
mod program;
mod reload;
mod restart;
mod running;
