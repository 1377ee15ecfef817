//! `tessera edge`: an HTTP proxy whose clients move between the proxies of a pool, with their sessions, their state and their
//! one-time keys.
//!
//! From top to bottom; a module imports only from its own row and those below it:
//!
//! | modules | what happens there |
//! |---|---|
//! | `demo` | a demonstration: a client that flies past three proxies |
//! | [`run()`], [`check()`] | the commands: the whole process, and the same errors without listening |
//! | `running`, `changes`, `confinement` | a live proxy: listeners, periodic tasks, reloads, its end; what the process may use |
//! | `envoy` | Envoy as a member: it asks before each request |
//! | `edge` | requests and moves |
//! | `warnings` | what is probably not intended |
//! | `load`, `tls` | what a configuration names |
//! | `signer` | the signers that hold the private key, if it isn't here |
//! | `peers`, `state`, `upgrade` | the channel to the other proxies, and clients' state on its way; WebSockets |
//! | `clients`, `names` | clients that were here, and what names them |
//! | `places` | how many clients of an address were bound, and how many WebSockets one holds |
//! | `services`, `fields`, [`metrics`] | which service a request is for; fields of messages; series for Prometheus |
//! | [`config`], `paths`, `troubles` | the schema and its checks; paths that mean the same to everyone; lines about what fails again and again |
#![forbid(unsafe_code)]

mod changes;
mod check;
mod clients;
pub mod config;
mod confinement;
#[cfg(feature = "demo")]
mod demo;
mod edge;
mod envoy;
mod fields;
mod load;
pub mod metrics;
mod names;
mod paths;
mod peers;
mod places;
mod run;
mod running;
mod services;
mod signer;
mod state;
#[cfg(all(test, feature = "demo"))]
mod tests;
mod tls;
mod troubles;
mod upgrade;
mod warnings;

pub use self::check::{check, summary};
#[cfg(feature = "demo")]
pub use self::demo::{DemoOptions, demo};
pub use self::run::run;
