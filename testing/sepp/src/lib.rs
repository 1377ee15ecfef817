//! Shared by the tests of `tessera sepp`: operators with their certificates, a SEPP as a process ([`Sepp`]), network
//! functions on both sides ([`Function`], [`Consumer`]), and two roaming operators ([`World`]).

// Any failure here fails the test by a panic.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

mod consumer;
mod function;
mod operators;
mod sepp;
mod world;

use std::sync::LazyLock;

pub use self::consumer::{Consumer, Reply, request};
pub use self::function::Function;
pub use self::operators::{HOME, THIRD, VISITED};
pub use self::sepp::{Places, Sepp};
pub use self::world::{KEY, Words, World};

use tokio::runtime::Runtime;

/// The runtime of network functions, for all tests of a process.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
