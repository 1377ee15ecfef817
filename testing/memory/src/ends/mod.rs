//! Ends of connections: one of them is attacked, the other one records its secrets.

pub mod client;
pub mod connections;
mod datagrams;
pub mod server;
mod sleeping;
