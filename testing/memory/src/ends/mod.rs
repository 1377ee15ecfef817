//! Ends of connections: one of them is attacked, the other one records its secrets.

pub mod client;
pub mod server;
