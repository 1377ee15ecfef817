//! `tessera tunnel`: any TCP protocol through two small processes.
#![forbid(unsafe_code)]

mod certificates;
mod changes;
mod check;
pub mod client;
pub mod config;
mod confinement;
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
pub use demo::{DemoOptions, demo};
pub use load::Source;
pub use run::run;
