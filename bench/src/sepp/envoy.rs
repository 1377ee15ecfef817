//! Envoy at either end, minimal: no access log, no request ids, only a router.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use tessera_proxy::demo::HOME;

use crate::Failure;
use crate::files::Credential;
use crate::setting::{End, SUITE, Setting};

pub(crate) fn arguments(file: &str) -> [String; 7] {
    ["-c", file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
        .map(str::to_owned)
}

/// Envoy reads JSON as well as YAML.
pub(crate) fn configuration(setting: &Setting<'_>) -> String {
    let Setting { end, files, listen, n32f, others, network_function, .. } = setting;
    let admin = match end {
        End::Visited => others[0],
        End::Home => others[1],
    };
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
    let resources = json!({ "listeners": [listener], "clusters": [cluster] });
    json!({ "admin": { "address": address(admin) }, "static_resources": resources }).to_string()
}

/// Fails unless the home end's connections, counted by its administrator, have the suite that all ways are compared
/// with: Envoy has no setting for those of TLS 1.3.
pub(crate) fn check_suite(admin: SocketAddr) -> Result<(), Failure> {
    let mut connection = TcpStream::connect(admin)?;
    let host = "Host: envoy\r\nConnection: close\r\n\r\n";
    connection.write_all(format!("GET /stats?filter=ssl.ciphers HTTP/1.1\r\n{host}").as_bytes())?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let suites: Vec<&str> = answer.lines().filter(|line| line.contains("ssl.ciphers.")).collect();
    match &suites[..] {
        [suite] if suite.contains(SUITE) => Ok(()),
        _ => Err(format!("its N32-f doesn't use {SUITE} alone: {suites:?}").into()),
    }
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
