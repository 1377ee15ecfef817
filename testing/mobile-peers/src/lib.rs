//! Programs of other stacks whose clients change their address, as tests start them. `README.md` describes their
//! arguments and what they print.

// Any failure here fails the test by a panic.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

mod client;
mod program;
mod server;

pub use client::{Client, ClientOptions, Events};
pub use program::{Arm, Program};
pub use server::{Server, ServerEnd};
