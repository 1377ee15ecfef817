//! Two SEPPs and network functions in one process, over real TLS: what crosses N32-f, and what doesn't.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod bodies;
mod early;
mod failures;
mod refused;
mod reloads;
mod telescopic;
mod ways;
mod whole;
mod world;
