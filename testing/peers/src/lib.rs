//! The foreign programs that tests use, and the one way to start them.
//!
//! The table, which `scripts/setup-tests` reads too:
//!
#![doc = concat!("```text\n", include_str!("../peers.txt"), "```")]
//!
//! A range of versions contains its beginning and not its end. Chromium's has no end: Debian updates it each month.
//! etcd 3.5.0 to 3.5.5 lose data when they crash. rustls is a peer too, but a crate: `Cargo.lock` pins it. So is the
//! library of OpenSSL, which `examples/openssl-peer` links. The libraries of wolfSSL and BoringSSL are peers too:
//! `testing/interop` compiles programs with them ([`wolfssl`], [`boringssl`]). The programs of NSS don't print their
//! version, nor does nft in this form: it is that of their package, from `dpkg`.
//!
//! Whatever starts here
//! - is installed, in an accepted version, or the test fails and names the fix: no test is skipped;
//! - runs as `nobody` if the tests run as root, can't gain privileges, and inherits no variable but `PATH`;
//! - has its own [`Directory`] as its working directory, its home and its place for temporary files;
//! - is waited for until a deadline, and its output is in the error;
//! - is killed with its children when its [`Process`] is dropped, and by the kernel if the test's
//!   process dies first.
//!
//! A program that needs no network has none ([`Network::None`]: an empty network namespace). Servers, and clients of
//! the test's own servers, share the loopback interface with the test ([`Network::Loopback`]): a test's process has
//! many threads, and only root can move single threads into the namespace of a peer. A test with an emulated link
//! (`tessera_link`) starts peers at its ends with [`Process::start_by`]. If the kernel makes no namespaces, this is
//! reported once on standard error.

// Any failure here fails the test by a panic.
#![allow(clippy::unwrap_used, clippy::panic)]
#![forbid(unsafe_code)]

pub mod between;
pub mod boringssl;
pub mod chromium;
mod clock;
pub mod coap;
mod compiled;
mod confinement;
mod directory;
pub mod etcd;
pub mod gnutls;
pub mod go;
pub mod haproxy;
pub mod http;
mod link;
pub mod mosquitto;
pub mod nghttpx;
pub mod nginx;
pub mod nss;
pub mod openssl;
mod peer;
mod ports;
pub mod postgres;
mod process;
pub mod redis;
pub mod stunnel;
pub mod wolfssl;

pub use clock::Clock;
pub use confinement::{Network, spawn};
pub use directory::Directory;
pub use link::has_link;
pub use peer::{Peer, table};
pub use ports::free_port;
pub use process::Process;

use std::time::{Duration, Instant};

/// How long anything may take before its test fails. Generous: only failures wait for it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls until there is an answer, or fails the test.
#[track_caller]
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
