//! The ticket keys of a fleet of TLS servers, which rotate in two acknowledged phases.
#![forbid(unsafe_code)]

mod install;

pub use install::{InstallRefused, Installation, Installer, RingKeys};
