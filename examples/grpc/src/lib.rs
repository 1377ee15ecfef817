//! gRPC with tonic over Tessera.
//!
//! [`channel`] is a client's channel, [`serve`] a server's connections; [`configurations`] makes
//! certificates and tickets for both. The service is written by hand, as protoc would generate it
//! from
//!
//! ```proto
//! package greeter;
//! service Greeter { rpc Hello(HelloRequest) returns (HelloReply); }
//! ```
#![forbid(unsafe_code)]

mod client;
mod configurations;
mod messages;
mod server;

pub use client::{channel, hello};
pub use configurations::{Configurations, SERVER_NAME, configurations};
pub use messages::{HelloReply, HelloRequest};
pub use server::serve;

/// The path of the service's only method.
const HELLO: &str = "/greeter.Greeter/Hello";
