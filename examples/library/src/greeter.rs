//! The service as protoc would generate it from
//!
//! ```proto
//! package greeter;
//! service Greeter { rpc Hello(HelloRequest) returns (HelloReply); }
//! ```

/// The path of its only method.
pub const HELLO: &str = "/greeter.Greeter/Hello";

/// Who asks.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloRequest {
    /// A name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// The answer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HelloReply {
    /// A greeting.
    #[prost(string, tag = "1")]
    pub greeting: String,
}
