//! `tessera tunnel`: any TCP protocol through two small processes.
#![forbid(unsafe_code)]

mod certificates;
mod changes;
mod check;
pub mod client;
pub mod config;
mod confinement;
#[cfg(feature = "demo")]
mod demo;
mod load;
pub mod metrics;
pub mod peers;
mod run;
mod running;
pub mod server;
pub mod tls;
mod warnings;

pub use check::{check, summary};
#[cfg(feature = "demo")]
pub use demo::{DemoOptions, demo};
pub use load::Source;
pub use run::run;
