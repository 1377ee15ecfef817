//! `tessera orchestrator`: moves clients between the proxies of a pool.
//!
//! Its state is in the pool's store alone ([`tessera_bindings`]). It begins moves, and the proxies, which follow the same store,
//! take the steps that are theirs; then it follows the move in its table, and takes the steps that are due by time. So any
//! number of orchestrators run at once, and another goes on where one died.
//!
//! | module | purpose |
//! |---|---|
//! | `config` | the configuration, and its contradictions |
//! | `moves` | begins, waits, the queue; which proxy is chosen; drains; what is counted and logged |
//! | `api` | HTTP over mutual TLS: routes, callers, refusals |
//! | `orchestrator` | all of it, running |
//! | `operator` | the requests of the command line |
//! | `state` | what requests and answers hold |
#![forbid(unsafe_code)]

mod api;
mod check;
pub mod config;
mod confinement;
mod load;
mod metrics;
mod moves;
pub mod operator;
mod orchestrator;
mod run;
pub mod state;

pub use check::{check, summary};
pub use orchestrator::Orchestrator;
pub use run::run;
