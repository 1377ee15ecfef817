//! Two stock Envoys with one ticket key, each before an instance. All responses name one of them; what moves no state needs
//! no more.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tessera::ClientConfig;
use tessera_aws_lc::provider;
use tessera_pki::Authority;
use tessera_test_peers::{Directory, Network, Process};
use tessera_webpki::WebPkiVerifier;

use crate::client::{Drone, ORIGIN};
use crate::service::{Executions, Instance};

/// The Envoys `a` and `b`.
pub struct EnvoyPair {
    /// The authority of the origin's certificate.
    pub origin_ca: Authority,
    /// What both instances executed.
    pub executions: Executions,
    announced: [SocketAddr; 2],
    version: u64,
    members: [Member; 2],
}

struct Member {
    process: Process,
    _instance: Instance,
    directory: Directory,
}

/// The names of both, as services report them.
const NAMES: [&str; 2] = ["a", "b"];

impl EnvoyPair {
    /// Starts both at these addresses; clients are announced the others. `ENVOY` names the program.
    pub async fn start(places: [SocketAddr; 2], announced: [SocketAddr; 2]) -> Self {
        let program = std::env::var("ENVOY").expect("ENVOY names the program");
        let origin_ca = Authority::new("origin");
        let chain = origin_ca.issue(ORIGIN).both_pem();
        let executions = Executions::default();
        // The key's name, and those of HMAC and AES: any will do.
        let key = BASE64_STANDARD.encode((1..=80).collect::<Vec<u8>>());
        let mut members = Vec::new();
        for (name, place) in NAMES.into_iter().zip(places) {
            let directory = Directory::new();
            directory.write_private("www.pem", &chain);
            let secret = resource(
                "transport_sockets.tls.v3.Secret",
                json!({ "name": "stek", "session_ticket_keys": { "keys": [{ "inline_bytes": key }] } }),
            );
            directory.write_private("stek.json", discovery(0, secret).to_string());
            write_routes(&directory, 0, announced[0]);
            let instance = Instance::start(name, &executions).await;
            let settings = settings(&directory, place, instance.address);
            let file = directory.write("envoy.json", settings.to_string());
            // Without --disable-hot-restart two Envoys would share memory.
            let options =
                ["-c", &file, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"];
            let process = Process::start_compiled("envoy", &program, Network::Loopback, options);
            members.push(Member { process, _instance: instance, directory });
        }
        for (member, place) in members.iter().zip(places) {
            member.process.listens_on(place.port());
        }
        let members = members.try_into().unwrap_or_else(|_| unreachable!("there are two"));
        Self { origin_ca, executions, announced, version: 0, members }
    }

    /// Announces one of them, by its place, in all responses; waits until both do.
    pub async fn announce(&mut self, to: usize) {
        self.announce_soon(to);
        let expected = format!("h2=\"{}\"", self.announced[to]);
        for at in 0..2 {
            let deadline = std::time::Instant::now() + crate::wait::LONG;
            loop {
                let answer = self.drone(&[self.announced[at]]).is_served("/probe").await;
                if answer.field("alt-svc").starts_with(&expected) {
                    break;
                }
                assert!(std::time::Instant::now() < deadline, "{}", self.log());
            }
        }
    }

    /// The same, but doesn't wait.
    pub fn announce_soon(&mut self, to: usize) {
        self.version += 1;
        for member in &self.members {
            write_routes(&member.directory, self.version, self.announced[to]);
        }
    }

    /// Returns a client that comes to these addresses of the origin first.
    pub fn drone(&self, origin: &[SocketAddr]) -> Drone {
        let verifier = WebPkiVerifier::new(&[self.origin_ca.der()]).unwrap();
        let mut config = ClientConfig::new(provider(), std::sync::Arc::new(verifier));
        config.protocols = vec![b"h2".to_vec()];
        Drone::without_early_data(config, None, origin, &self.executions)
    }

    /// Returns what both have logged.
    pub fn log(&self) -> String {
        self.members.iter().map(|it| it.process.output()).collect()
    }
}

/// Envoy reads what is renamed.
fn write_routes(directory: &Directory, version: u64, announced: SocketAddr) {
    let field =
        json!({ "key": "alt-svc", "value": format!("h2=\"{announced}\"; ma=30; persist=1") });
    let routes = resource(
        "routes",
        json!({
            "name": "routes",
            "virtual_hosts": [{
                "name": "all", "domains": ["*"],
                "response_headers_to_add": [{ "header": field, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD" }],
                "routes": [{ "match": { "prefix": "/" }, "route": { "cluster": "service" } }],
            }],
        }),
    );
    let new = directory.write("routes.new", discovery(version, routes).to_string());
    std::fs::rename(new, directory.path("routes.json")).unwrap();
}

const EXTENSIONS: &str = "type.googleapis.com/envoy.extensions.";

/// A message with its type: one of the extensions, or the routes.
fn resource(kind: &str, mut value: Value) -> Value {
    value["@type"] = match kind {
        "routes" => "type.googleapis.com/envoy.config.route.v3.RouteConfiguration".into(),
        extension => format!("{EXTENSIONS}{extension}").into(),
    };
    value
}

fn discovery(version: u64, resource: Value) -> Value {
    json!({ "version_info": version.to_string(), "resources": [resource] })
}

fn settings(directory: &Directory, place: SocketAddr, instance: SocketAddr) -> Value {
    let address = |at: SocketAddr| json!({ "socket_address": { "address": at.ip(), "port_value": at.port() } });
    let source = |file: &str| json!({ "path_config_source": { "path": directory.path(file) }, "resource_api_version": "V3" });
    let chain = json!({ "filename": directory.path("www.pem") });
    let router = resource("filters.http.router.v3.Router", json!({}));
    let manager = resource(
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        json!({
            "stat_prefix": "http",
            "rds": { "route_config_name": "routes", "config_source": source("routes.json") },
            "http_filters": [{ "name": "envoy.filters.http.router", "typed_config": router }],
        }),
    );
    let tls = resource(
        "transport_sockets.tls.v3.DownstreamTlsContext",
        json!({
            "common_tls_context": {
                "alpn_protocols": ["h2", "http/1.1"],
                "tls_params": {
                    "tls_minimum_protocol_version": "TLSv1_3",
                    "tls_maximum_protocol_version": "TLSv1_3",
                    // The server's order wins.
                    "ecdh_curves": ["X25519MLKEM768", "X25519"],
                },
                "tls_certificates": [{ "certificate_chain": chain, "private_key": chain }],
            },
            "session_ticket_keys_sds_secret_config": { "name": "stek", "sds_config": source("stek.json") },
        }),
    );
    json!({
        "node": { "id": "edge", "cluster": "edge" },
        "static_resources": {
            "listeners": [{
                "address": address(place),
                "filter_chains": [{
                    "filters": [{ "name": "envoy.filters.network.http_connection_manager", "typed_config": manager }],
                    "transport_socket": { "name": "envoy.transport_sockets.tls", "typed_config": tls },
                }],
            }],
            "clusters": [{
                "name": "service", "type": "STATIC",
                "load_assignment": {
                    "cluster_name": "service",
                    "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(instance) } }] }],
                },
            }],
        },
    })
}
