//! The messages of the service.

/// The request.
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
    /// Whether the connection that the request came through was resumed.
    #[prost(bool, tag = "2")]
    pub resumed: bool,
    /// Whether its first call travelled as early data.
    #[prost(bool, tag = "3")]
    pub early: bool,
}
