//! The service as protoc would generate it from
//!
//! ```proto
//! package greeter;
//! service Greeter { rpc Hello(HelloRequest) returns (HelloReply); }
//! ```

/// The path of the service's only method.
pub const HELLO: &str = "/greeter.Greeter/Hello";

/// The request message.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloRequest {
    /// The caller's name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// The response message.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloReply {
    /// The greeting.
    #[prost(string, tag = "1")]
    pub greeting: String,
}
