//! Counts every increment once, over a hostile network.
//!
//! Clients send increments of a counter as forward-secret early data. The network drops, delays, duplicates, reorders
//! and replays in both directions, the vault fails, and both ends restart at any moment, the server also between taking
//! a one-time key and doing the work. In the end the counter must have the clients' sum: nothing lost, nothing twice.
//!
//! What an application must do for that is in [`journal`] (one table, written in the same transaction as the effect)
//! and in [`pending`] (what to send again, and how). [`server`] and [`client`] use them. The rest is the adversity:
//! [`world`], [`network`], [`vault`], and [`slip`], mistakes that the tests make to see that the count reveals them.

pub mod client;
pub mod clock;
pub mod journal;
pub mod network;
pub mod pending;
pub mod server;
pub mod slip;
pub mod tally;
pub mod vault;
pub mod world;

pub use slip::Slip;
pub use tally::Tally;
pub use world::{Outcome, run};
