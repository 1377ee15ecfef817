//! Two ends with caches: when certificates travel as hashes, and what happens when they can't.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::expect_used, clippy::panic)]

mod attacks;
mod bounds;
mod bytes;
mod ends;
mod hits;
mod known;
mod misses;
mod paper;
mod paper_refusals;
mod public;
mod refusals;
mod shared;
mod stapling;
mod written;

use ends::{Ends, Naming, alert, chain, edit_hello, hits_of, in_hello};
