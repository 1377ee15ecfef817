//! `tessera stek`: ticket keys for any pool of TLS servers.
//!
//! A sidecar on each host takes part in a ring of ticket keys ([`tessera_ring`]) for each server of its configuration, and
//! gives it the ring's keys in the server's own form.
#![forbid(unsafe_code)]

mod cache;
mod canaries;
pub mod canary;
mod certificate;
mod check;
mod client;
pub mod config;
mod confinement;
#[cfg(feature = "demo")]
mod demo;
pub mod keys;
mod load;
mod metrics;
mod run;
mod running;
mod serve;
pub mod servers;
mod state;

pub use check::{check, summary};
pub use client::{change, status};
#[cfg(feature = "demo")]
pub use demo::{DemoOptions, demo};
pub use run::run;
pub use state::{
    CanaryState, ChangeKind, KeyState, MemberState, RequestedChange, ServerState, StekState,
};
