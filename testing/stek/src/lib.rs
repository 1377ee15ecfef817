//! Rings of ticket keys for real servers, and a client that crosses between them.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail their test")]

mod fleet;
mod forwarder;
mod own_server;
mod servers;
mod sidecar;
mod wait;

pub use fleet::{Fleet, revoke, ring_keys, settled};
pub use forwarder::{Forwarder, SlowForwarder};
pub use own_server::serve;
pub use servers::{Pki, RunningServer, SERVER_NAME};
pub use sidecar::{Sidecar, count, shared_file};
pub use wait::until;
