//! Clients of other stacks change their address.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cost;
mod fetched;
mod moves;
mod openssl;
