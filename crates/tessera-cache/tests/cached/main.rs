//! Two ends with caches: when certificates travel as hashes, and what happens when they can't.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::expect_used, clippy::panic)]

mod ends;
mod hits;

use ends::{Ends, in_hello};
