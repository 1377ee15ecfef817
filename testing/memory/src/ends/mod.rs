//! Ends of connections: one of them is attacked, the other one keeps what it knows.

pub mod client;
pub mod server;
