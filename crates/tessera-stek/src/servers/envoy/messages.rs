//! The messages of Envoy's secret discovery service, of which only the fields that this service reads or writes.
//!
//! Source: `envoy/service/discovery/v3/discovery.proto`, `envoy/extensions/transport_sockets/tls/v3/secret.proto`,
//! `envoy/extensions/transport_sockets/tls/v3/common.proto`, `envoy/config/core/v3/base.proto` and
//! `google/rpc/status.proto` of Envoy 1.40. Unknown fields are skipped.
//! Messages with keys have no `Debug`.

use prost::Message;

/// The type of the one resource.
pub(super) const SECRET: &str =
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";

/// `envoy.service.discovery.v3.DiscoveryRequest`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DiscoveryRequest {
    /// What the client accepted last; empty: nothing yet.
    #[prost(string, tag = "1")]
    pub(super) version_info: String,
    #[prost(message, optional, tag = "2")]
    pub(super) node: Option<Node>,
    #[prost(string, repeated, tag = "3")]
    pub(super) resource_names: Vec<String>,
    #[prost(string, tag = "4")]
    pub(super) type_url: String,
    #[prost(string, tag = "5")]
    pub(super) response_nonce: String,
    #[prost(message, optional, tag = "6")]
    pub(super) error_detail: Option<Status>,
}

/// `envoy.config.core.v3.Node`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, tag = "1")]
    pub(super) id: String,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

/// `envoy.service.discovery.v3.DiscoveryResponse`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct DiscoveryResponse {
    #[prost(string, tag = "1")]
    pub(super) version_info: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) resources: Vec<Any>,
    #[prost(string, tag = "4")]
    pub(super) type_url: String,
    #[prost(string, tag = "5")]
    pub(super) nonce: String,
    #[prost(message, optional, tag = "6")]
    pub(super) control_plane: Option<ControlPlane>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// `envoy.config.core.v3.ControlPlane`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ControlPlane {
    #[prost(string, tag = "1")]
    pub(super) identifier: String,
}

/// `envoy.extensions.transport_sockets.tls.v3.Secret`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct Secret {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "3")]
    pub(super) session_ticket_keys: Option<TlsSessionTicketKeys>,
}

/// `envoy.extensions.transport_sockets.tls.v3.TlsSessionTicketKeys`: the first key seals, all open.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct TlsSessionTicketKeys {
    #[prost(message, repeated, tag = "1")]
    pub(super) keys: Vec<DataSource>,
}

/// `envoy.config.core.v3.DataSource`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct DataSource {
    #[prost(bytes = "vec", tag = "2")]
    pub(super) inline_bytes: Vec<u8>,
}
