//! Envoy at either end, minimal: no access log, no request ids, only a router.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tessera_proxy::demo::HOME;

use crate::files::Credential;
use crate::setting::{End, Setting};

pub(crate) fn arguments(file: &str) -> [String; 7] {
    ["-c", file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
        .map(str::to_owned)
}

/// Envoy reads JSON as well as YAML.
pub(crate) fn configuration(setting: &Setting<'_>) -> String {
    let Setting { end, files, listen, n32f, network_function, .. } = setting;
    let (accepts, connects, to) = match end {
        End::Visited => (None, Some(upstream_tls(&files.visited, &files.home)), *n32f),
        End::Home => (Some(downstream_tls(&files.home, &files.visited)), None, *network_function),
    };
    let mut chain = json!({ "filters": [http_connections()] });
    let mut cluster = cluster(to);
    if let Some(socket) = accepts {
        chain["transport_socket"] = socket;
    }
    if let Some(socket) = connects {
        cluster["transport_socket"] = socket;
    }
    let listener = json!({
        "name": "in",
        "address": address(*listen),
        "filter_chains": [chain],
    });
    json!({ "static_resources": { "listeners": [listener], "clusters": [cluster] } }).to_string()
}

fn http_connections() -> Value {
    let router = typed(
        "envoy.filters.http.router",
        json!({ "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" }),
    );
    let route = json!({ "match": { "prefix": "/" }, "route": { "cluster": "out" } });
    typed(
        "envoy.filters.network.http_connection_manager",
        json!({
            "@type": "type.googleapis.com/envoy.extensions.filters.network\
                      .http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "in",
            "codec_type": "HTTP2",
            "generate_request_id": false,
            "route_config": {
                "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [route] }],
            },
            "http_filters": [router],
        }),
    )
}

fn cluster(to: SocketAddr) -> Value {
    json!({
        "name": "out",
        "type": "STATIC",
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": { "http2_protocol_options": {} },
            },
        },
        "load_assignment": {
            "cluster_name": "out",
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(to) } }] }],
        },
    })
}

fn upstream_tls(own: &Credential, peer: &Credential) -> Value {
    typed(
        "envoy.transport_sockets.tls",
        json!({
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": HOME.fqdn,
            "common_tls_context": common_tls(own, peer),
        }),
    )
}

fn downstream_tls(own: &Credential, peer: &Credential) -> Value {
    typed(
        "envoy.transport_sockets.tls",
        json!({
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "require_client_certificate": true,
            "common_tls_context": common_tls(own, peer),
        }),
    )
}

/// TLS 1.3 alone, and certificates of the peer's authority.
fn common_tls(own: &Credential, peer: &Credential) -> Value {
    json!({
        "tls_params": {
            "tls_minimum_protocol_version": "TLSv1_3",
            "tls_maximum_protocol_version": "TLSv1_3",
            "ecdh_curves": ["X25519"],
        },
        "tls_certificates": [{
            "certificate_chain": { "filename": own.certificate },
            "private_key": { "filename": own.key },
        }],
        "validation_context": { "trusted_ca": { "filename": peer.ca } },
        "alpn_protocols": ["h2"],
    })
}

fn typed(name: &str, configuration: Value) -> Value {
    json!({ "name": name, "typed_config": configuration })
}

fn address(address: SocketAddr) -> Value {
    let (ip, port) = (address.ip().to_string(), address.port());
    json!({ "socket_address": { "address": ip, "port_value": port } })
}
