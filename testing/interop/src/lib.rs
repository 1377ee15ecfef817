//! Tessera against other TLS stacks, over loopback TCP: what the tests need for it.
//!
//! An [`End`] is one side of a connection, driven over a socket; a [`Program`] is a child process
//! whose output is watched; [`openssl`] starts the peers, and [`Pki`] makes everybody's
//! certificates. Nothing here waits longer than [`PATIENCE`], and no child outlives its owner.

// Whatever goes wrong here ends a test, and a panic is how a test says so.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

mod asking;
mod configs;
mod counting;
mod end;
mod folder;
mod key_lines;
pub mod openssl;
mod pki;
mod program;
mod told;

pub use asking::{Asking, Came};
pub use configs::{client, server, to};
pub use counting::Counting;
pub use end::{Client, End, Listener, Server};
pub use folder::Folder;
pub use key_lines::{KeyLines, hex};
pub use pki::{CLIENT_NAME, Identity, KeyKind, Pki, SERVER_NAME};
pub use program::Program;
pub use told::Told;

use std::time::{Duration, Instant};

/// How long anything may take before its test fails. Generous: it is only waited out by failures.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again and again until there is an answer, or fails the test.
pub fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
