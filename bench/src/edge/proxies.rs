//! The proxies, each with one thread on the first processor.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tessera_bench::usage::processor_time;
use tessera_pki::Authority;
use tessera_test_peers::{Directory, Network, Process, free_port};

use crate::{BINDINGS, Failure, PROXIES};

/// How long a proxy may take to follow all bindings.
const PATIENCE: Duration = Duration::from_secs(60);

/// A proxy, with the processes that its requests need.
pub(crate) struct Proxy {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    processes: Vec<Process>,
}

/// Files, programs, and the service behind all proxies.
pub(crate) struct Scene {
    directory: Directory,
    program: String,
    envoy: String,
    service: SocketAddr,
    etcd: Vec<String>,
}

impl Proxy {
    /// Returns the processor time of all its processes so far.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        let times = self.processes.iter().map(|process| processor_time(process.id()));
        Ok(times.sum::<Result<Duration, _>>()?)
    }
}

impl Scene {
    pub(crate) fn new(
        program: String,
        envoy: String,
        service: SocketAddr,
        etcd: Vec<String>,
    ) -> Self {
        let directory = Directory::new();
        let authority = Authority::new("edge");
        let leaf = authority.issue("localhost");
        directory.write("ca.pem", authority.pem());
        directory.write("chain.pem", leaf.chain_pem());
        directory.write_private("key.pem", leaf.key_pem());
        directory.write_private("both.pem", leaf.both_pem());
        directory.write_private("pool.key", "07".repeat(32));
        Self { directory, program, envoy, service, etcd }
    }

    fn start(&self, what: &'static str, program: &str, arguments: &[&str], port: u16) -> Process {
        let words = ["-c", "0", program];
        let words = words.iter().chain(arguments);
        let process = Process::start_compiled(what, "taskset", Network::Loopback, words);
        process.listens_on(port);
        process
    }

    /// Starts `tessera edge`, and waits until it has followed all bindings.
    fn edge(
        &self,
        what: &'static str,
        name: &str,
        section: &str,
        more: &str,
    ) -> Result<Process, Failure> {
        let (peers, admin) = (free_port()?, free_port()?);
        let text = format!(
            "[process]\nadmin = \"127.0.0.1:{admin}\"\n\
             [pool]\netcd = {{ endpoints = {:?}, plaintext-on-private-network = true }}\nkey = \"pool.key\"\n\
             [proxy]\nname = {name:?}\nannounce = \"localhost:443\"\ncertificate = \"both.pem\"\n{section}\
             [peers]\nlisten = \"127.0.0.1:{peers}\"\naddress = \"localhost:{peers}\"\ncertificate = \"both.pem\"\n\
             ca = \"ca.pem\"\n\
             [clients]\nnamed-by = \"cookie\"\n\
             [service.web]\ninstances = [\"{}\"]\nhttp2 = true\n{more}",
            self.etcd, self.service
        );
        let file = self.directory.write(&format!("{name}.toml"), text);
        let process = self.start(what, &self.program, &["edge", "run", &file], peers);
        process.listens_on(admin);
        let metrics = format!("http://127.0.0.1:{admin}/metrics");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = Command::new("curl").args(["--silent", "--fail", &metrics]).output()?;
            let text = String::from_utf8_lossy(&answer.stdout);
            let followed =
                text.lines().find_map(|line| line.strip_prefix("tessera_edge_bindings{} "));
            let followed = followed.map_or(Ok(0.0), str::parse::<f64>)?;
            if followed >= BINDINGS as f64 {
                return Ok(process);
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "{what}: it follows {followed} bindings: {}",
                    process.output()
                )
                .into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn tessera(&self) -> Result<Proxy, Failure> {
        let port = free_port()?;
        let listen = format!("listen = \"127.0.0.1:{port}\"\n");
        let process = self.edge("tessera edge", PROXIES[0], &listen, "")?;
        process.listens_on(port);
        Ok(Proxy { name: "tessera edge", port, processes: vec![process] })
    }

    pub(crate) fn envoy_that_asks(&self) -> Result<Proxy, Failure> {
        let socket = self.directory.path("authz.sock");
        let section = format!("[ext-authz]\nsocket = \"{socket}\"\n");
        let sidecar = self.edge("sidecar", PROXIES[1], "", &section)?;
        let asks = json!({
            "name": "envoy.filters.http.ext_authz",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
                "transport_api_version": "V3",
                "grpc_service": { "envoy_grpc": { "cluster_name": "edge" }, "timeout": "5s" },
            },
        });
        let (port, process) = self.start_envoy("asking.json", vec![asks], Some(&socket))?;
        Ok(Proxy { name: "Envoy that asks (ext_authz)", port, processes: vec![process, sidecar] })
    }

    pub(crate) fn envoy(&self) -> Result<Proxy, Failure> {
        let (port, process) = self.start_envoy("envoy.json", Vec::new(), None)?;
        Ok(Proxy { name: "Envoy", port, processes: vec![process] })
    }

    fn start_envoy(
        &self,
        file: &str,
        mut filters: Vec<Value>,
        socket: Option<&str>,
    ) -> Result<(u16, Process), Failure> {
        let port = free_port()?;
        filters.push(json!({
            "name": "envoy.filters.http.router",
            "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
        }));
        let route = json!({ "match": { "prefix": "/" }, "route": { "cluster": "out" } });
        let connections = json!({
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3\
                          .HttpConnectionManager",
                "stat_prefix": "in",
                "generate_request_id": false,
                "route_config": { "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [route] }] },
                "http_filters": filters,
            },
        });
        let tls = json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                "common_tls_context": {
                    "alpn_protocols": ["h2"],
                    "tls_params": { "tls_minimum_protocol_version": "TLSv1_3" },
                    "tls_certificates": [{
                        "certificate_chain": { "filename": self.directory.path("chain.pem") },
                        "private_key": { "filename": self.directory.path("key.pem") },
                    }],
                },
            },
        });
        let place =
            |port: u16| json!({ "socket_address": { "address": "127.0.0.1", "port_value": port } });
        let mut clusters = vec![cluster("out", place(self.service.port()))];
        clusters.extend(socket.map(|path| cluster("edge", json!({ "pipe": { "path": path } }))));
        let configuration = json!({ "static_resources": {
            "listeners": [{
                "name": "in",
                "address": place(port),
                "filter_chains": [{ "filters": [connections], "transport_socket": tls }],
            }],
            "clusters": clusters,
        } });
        let file = self.directory.write(file, configuration.to_string());
        let arguments =
            ["-c", &file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"];
        Ok((port, self.start("envoy", &self.envoy, &arguments, port)))
    }

    pub(crate) fn nghttpx(&self) -> Result<Proxy, Failure> {
        let port = free_port()?;
        let (frontend, backend) = (
            format!("--frontend=127.0.0.1,{port}"),
            format!("--backend=127.0.0.1,{};;proto=h2", self.service.port()),
        );
        let (key, chain) = (self.directory.path("key.pem"), self.directory.path("chain.pem"));
        let arguments = [
            "--conf=/dev/null",
            "--single-process",
            "--single-thread",
            "--workers=1",
            "--no-ocsp",
            "--log-level=WARN",
            "--tls-min-proto-version=TLSv1.3",
            "--tls-max-proto-version=TLSv1.3",
            &frontend,
            &backend,
            &key,
            &chain,
        ];
        let process = self.start("nghttpx", "nghttpx", &arguments, port);
        Ok(Proxy { name: "nghttpx", port, processes: vec![process] })
    }
}

/// A cluster of HTTP/2.
fn cluster(name: &str, address: Value) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": { "http2_protocol_options": {} },
            },
        },
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address } }] }],
        },
    })
}
