//! Every increment counted once, over a network that does its worst.
//!
//! Clients send increments of a counter as forward-secret early data. The network drops, delays,
//! duplicates, reorders and replays in both directions, and both ends restart at any moment, the
//! server also between taking a one-time key and doing the work. In the end the counter must show
//! what the clients wanted: nothing lost, nothing twice.
//!
//! What an application has to do for it is in [`journal`] (one table, written in the same transaction
//! as the effect) and in [`client`] (what to send again, and how). The rest, [`world`] and
//! [`network`], is the misfortune.

pub mod client;
pub mod journal;
pub mod network;
pub mod server;
pub mod world;

pub use world::{Outcome, Slip, run};
