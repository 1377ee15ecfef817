//! Two ends with caches: when certificates travel as hashes, and what happens when they can't.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::expect_used, clippy::panic)]

mod attacks;
mod bounds;
mod bytes;
mod ends;
mod expired;
mod fleet;
mod fleet_attacks;
mod given;
mod hits;
mod interplay;
mod known;
mod misses;
mod mistaken;
mod paper;
mod paper_attacks;
mod paper_refusals;
mod public;
mod reasons;
mod refusals;
mod refused;
mod shared;
mod stapling;
mod told;
mod written;

use ends::{
    ABBREVIATED, CACHED_INFO, Ends, NamingVerifier, TICKETS, alert, chain, edit_hello, hits_of,
    in_hello,
};
