//! Members of one ring, over a store in a file, with a time that the tests set.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

mod cache;
mod members;
mod restore;
mod rotation;
mod world;
