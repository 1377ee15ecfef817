//! The messages of Envoy's external authorization, of which only the fields that this service reads or writes.
//!
//! Source: `envoy/service/auth/v3/external_auth.proto`, `envoy/service/auth/v3/attribute_context.proto`,
//! `envoy/config/core/v3/base.proto`, `envoy/config/core/v3/address.proto`, `envoy/type/v3/http_status.proto` and `google/rpc/status.proto` of Envoy 1.40. Unknown
//! fields are skipped.

use std::collections::HashMap;
use std::net::IpAddr;

use prost::Message;

/// `envoy.service.auth.v3.CheckRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) attributes: Option<AttributeContext>,
}

/// `envoy.service.auth.v3.AttributeContext`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(crate) request: Option<Request>,
}

/// `envoy.service.auth.v3.AttributeContext.Peer`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(crate) address: Option<Address>,
    /// The first URI, the first DNS name or the subject of the client's certificate.
    #[prost(string, tag = "4")]
    pub(crate) principal: String,
}

/// `envoy.config.core.v3.Address`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Address {
    #[prost(message, optional, tag = "1")]
    pub(crate) socket_address: Option<SocketAddress>,
}

/// `envoy.config.core.v3.SocketAddress`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SocketAddress {
    #[prost(string, tag = "2")]
    pub(crate) address: String,
}

/// `envoy.service.auth.v3.AttributeContext.Request`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(message, optional, tag = "2")]
    pub(crate) http: Option<HttpRequest>,
}

/// `envoy.service.auth.v3.AttributeContext.HttpRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HttpRequest {
    /// By names in lower case; the values of a repeated field are joined by commas.
    #[prost(map = "string, string", tag = "3")]
    pub(crate) headers: HashMap<String, String>,
    /// With the query; empty if the request has none.
    #[prost(string, tag = "4")]
    pub(crate) path: String,
}

/// `envoy.service.auth.v3.CheckResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<RpcStatus>,
    #[prost(message, optional, tag = "2")]
    pub(crate) denied_response: Option<DeniedHttpResponse>,
    #[prost(message, optional, tag = "3")]
    pub(crate) ok_response: Option<OkHttpResponse>,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
}

/// `envoy.service.auth.v3.DeniedHttpResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeniedHttpResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) headers: Vec<HeaderValueOption>,
    #[prost(string, tag = "3")]
    pub(crate) body: String,
}

/// `envoy.type.v3.HttpStatus`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HttpStatus {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
}

/// `envoy.service.auth.v3.OkHttpResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OkHttpResponse {
    /// Of the request, for the service.
    #[prost(message, repeated, tag = "2")]
    pub(crate) headers: Vec<HeaderValueOption>,
    /// Of the request: removed after the others were set.
    #[prost(string, repeated, tag = "5")]
    pub(crate) headers_to_remove: Vec<String>,
    /// Of the response, for the client.
    #[prost(message, repeated, tag = "6")]
    pub(crate) response_headers_to_add: Vec<HeaderValueOption>,
}

/// `envoy.config.core.v3.HeaderValueOption`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeaderValueOption {
    #[prost(message, optional, tag = "1")]
    pub(crate) header: Option<HeaderValue>,
    #[prost(int32, tag = "3")]
    pub(crate) append_action: i32,
}

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeaderValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

impl Peer {
    /// Returns its IP address.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.address.as_ref()?.socket_address.as_ref()?.address.parse().ok()
    }
}

impl HeaderValueOption {
    /// Replaces what there is of this name (`OVERWRITE_IF_EXISTS_OR_ADD`).
    pub(crate) fn set(key: &str, value: impl Into<String>) -> Self {
        let header = HeaderValue { key: key.to_owned(), value: value.into() };
        Self { header: Some(header), append_action: 2 }
    }

    /// Adds to what there is of this name (`APPEND_IF_EXISTS_OR_ADD`).
    pub(crate) fn add(key: &str, value: impl Into<String>) -> Self {
        Self { append_action: 0, ..Self::set(key, value) }
    }
}
