//! Clients of other stacks change their address.
#![allow(clippy::unwrap_used, clippy::panic)]

mod moves;
mod openssl;
