//! The HTTP half of a proxy: servers and pooled clients for HTTP/1.1 and HTTP/2, on hyper and h2.

pub mod body;
pub mod client;
pub mod deadline;
pub mod hop_by_hop;
mod place;
pub mod server;
mod upgrade;
