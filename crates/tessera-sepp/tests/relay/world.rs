//! A home and a visited network, each with a SEPP, and the home network's function.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tessera_pki::Authority;
use tessera_proxy::address::DialAddress;
use tessera_proxy::config::Document;
use tessera_proxy::demo::{self, OperatorIdentity};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Plaintext, Pool, PoolOptions, Protocol};
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tessera_proxy::stores::{Stores, StoresSection};
use tessera_sepp::config::Configuration;
use tessera_sepp::guard::Guard;
use tessera_sepp::n32f::reach::Reach;
use tessera_sepp::names::Fqdn;
use tessera_sepp::sepp::observer::{MessageRefusal, Observer, RefusalReason, RelayedRequest};
use tessera_tokio::Acceptor;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub const HOME: &str = demo::HOME.fqdn;
pub const VISITED: &str = demo::VISITED.fqdn;
pub const UDM: &str = "http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000";
/// What the home network's NRF answers.
const DISCOVERED: &str = r#"{"validityPeriod":60,"nfInstances":[{"nfType":"UDM","fqdn":"udm.5gc.mnc070.mcc999.3gppnetwork.org","nfServices":[{"interPlmnApiRoot":"http://udm.5gc.mnc070.mcc999.3gppnetwork.org:8000/x"}]}]}"#;
pub const AM_DATA: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";

/// How a test differs from the default.
#[derive(Clone, Copy, Default)]
pub struct Words<'w> {
    /// Further lines at the end of both files.
    pub both: &'w str,
    /// Further lines in `[sbi]` of the home network.
    pub home_sbi: &'w str,
    /// Further lines in `[sbi]` of the visited network.
    pub visited_sbi: &'w str,
    /// Further lines in the visited network's table of the home network.
    pub home_peer: &'w str,
    /// Further lines in the home network's table of the visited network.
    pub visited_peer: &'w str,
    /// The home network's SEPP has no peer with this name.
    pub strangers: bool,
    /// Addresses that the visited network's SEPP tries first.
    pub addresses: &'w str,
    /// Neither initiates N32-c.
    pub silent: bool,
}

pub struct World {
    pub home: Sepp,
    pub visited: Sepp,
    pub udm: Function,
}

/// A listening SEPP.
pub struct Sepp {
    pub relay: Arc<tessera_sepp::sepp::Sepp>,
    pub config: Configuration,
    pub seen: Arc<RecordedReports>,
    /// Local network functions send requests through it.
    pub sbi: Pool,
    pub sbi_address: SocketAddr,
    pub n32c_address: SocketAddr,
    pub n32f_address: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
}

/// A network function: its path selects the answer, and it records requests.
pub struct Function {
    pub address: SocketAddr,
    pub asked: Arc<Mutex<Vec<(Method, String, HeaderMap)>>>,
    task: JoinHandle<()>,
}

/// What a SEPP reported.
#[derive(Default)]
pub struct RecordedReports {
    pub relayed: Mutex<Vec<(Option<Fqdn>, &'static str, StatusCode)>>,
    pub refused: Mutex<Vec<(Fqdn, &'static str)>>,
    /// The claims that broke rules of the guard.
    pub claimed: Mutex<Vec<String>>,
    /// Whether each request was early.
    pub early: Mutex<Vec<bool>>,
    /// The reported reachability of peers.
    pub ways: Mutex<Vec<(Fqdn, &'static str)>>,
}

impl RecordedReports {
    /// Returns the rule and the claim that were refused last.
    pub fn last_refusal(&self) -> Option<(&'static str, String)> {
        let (_, rule) = self.refused.lock().unwrap().last()?.clone();
        Some((rule, self.claimed.lock().unwrap().pop()?))
    }
}

impl Observer for RecordedReports {
    fn relayed(&self, it: &RelayedRequest<'_>) {
        self.early.lock().unwrap().push(it.was_early);
        self.relayed.lock().unwrap().push((it.peer.cloned(), it.service, it.status));
    }

    fn refused(&self, it: &MessageRefusal<'_>) {
        self.refused.lock().unwrap().push((it.peer.clone(), it.reason.rule()));
        if let RefusalReason::Guard(refusal) = it.reason {
            self.claimed.lock().unwrap().push(refusal.claimed.to_string());
        }
    }

    fn reaches(&self, peer: &Fqdn, reach: &Reach) {
        self.ways.lock().unwrap().push((peer.clone(), reach.as_str()));
    }
}

impl World {
    pub async fn new(words: Words<'_>) -> Self {
        let (home_ca, visited_ca) = (Authority::new("home"), Authority::new("visited"));
        let udm = Function::start().await;
        let listeners = || async { [bind().await, bind().await, bind().await] };
        let (at_home, at_visited) = (listeners().await, listeners().await);
        let (home_files, visited_files) = (directory(), directory());
        for (files, ca, name) in
            [(&home_files, &home_ca, HOME), (&visited_files, &visited_ca, VISITED)]
        {
            let write = |name: &str, text: String| fs::write(files.join(name), text).unwrap();
            write("sepp.pem", ca.issue(name).both_pem());
            write("home.pem", home_ca.pem());
            write("visited.pem", visited_ca.pem());
        }
        let text = |own: OperatorIdentity, listeners: &[TcpListener; 3], sbi: &str, peer: &str| {
            let places = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
            format!(
                "{}{}{}[sbi]\n{sbi}\n{peer}\n{}\n",
                own.own("sepp.pem", places),
                demo::HOME.trust("home.pem"),
                demo::VISITED.trust("visited.pem"),
                words.both,
            )
        };
        let peer = |operator: OperatorIdentity, addresses: &str, more: &str| {
            let initiate = !words.silent;
            format!("{}address = [{addresses}]\ninitiate = {initiate}\n{more}\n", operator.peer())
        };
        let local = |listener: &TcpListener| format!("\"{}\"", listener.local_addr().unwrap());
        let hosts = format!(
            "hosts = {{ \"udm.5gc.mnc070.mcc999.3gppnetwork.org\" = \"{}\", \
             \"dead.5gc.mnc070.mcc999.3gppnetwork.org\" = \"127.0.0.1:1\" }}\n{}",
            udm.address, words.home_sbi
        );
        let of_visited = match words.strangers {
            false => peer(demo::VISITED, &local(&at_visited[1]), words.visited_peer),
            true => String::new(),
        };
        let home_text = text(demo::HOME, &at_home, &hosts, &of_visited);
        let to_home = format!("{}{}", words.addresses, local(&at_home[1]));
        let of_home = peer(demo::HOME, &to_home, words.home_peer);
        let visited_text = text(demo::VISITED, &at_visited, words.visited_sbi, &of_home);
        let home = Sepp::start(&home_files, home_text, at_home);
        let visited = Sepp::start(&visited_files, visited_text, at_visited);
        let world = Self { home, visited, udm };
        if !words.silent && !words.strangers {
            world.visited.associated(HOME).await;
            world.home.associated(VISITED).await;
        }
        world
    }

    /// Returns the visited network's function's answer from the home network's.
    pub async fn ask(&self, request: Request<Body>) -> Response<Body> {
        self.visited.ask(request).await
    }
}

impl Sepp {
    fn start(files: &std::path::Path, text: String, listeners: [TcpListener; 3]) -> Self {
        let config: Configuration =
            Document::from_text(&files.join("sepp.toml"), text).parse().unwrap();
        let section = StoresSection {
            name: "tickets",
            state: None,
            state_key: None,
            state_witness: None,
            fleet: None,
        };
        let (stores, _) = Stores::open(&section).unwrap();
        let guard = Arc::new(Guard::new(&config, &[7; 32]).unwrap());
        let seen = Arc::new(RecordedReports::default());
        let told = seen.clone();
        let relay = tessera_sepp::sepp::Sepp::open(&config, &stores, guard, told, Arc::new(()));
        let relay = Arc::new(relay.unwrap());
        let [sbi, n32c, n32f] = listeners;
        let [sbi_address, n32c_address, n32f_address] =
            [&sbi, &n32c, &n32f].map(|listener| listener.local_addr().unwrap());
        let sepp = relay.clone();
        let tasks = vec![
            tokio::spawn(listen(sbi, move |socket| {
                let sepp = sepp.clone();
                async move {
                    let service = |request| sepp.sbi(request);
                    let options = Arc::new(ServerOptions::default());
                    serve(
                        AcceptedConnection::plaintext(socket),
                        options,
                        service,
                        std::future::pending(),
                    )
                    .await;
                }
            })),
            tokio::spawn(terminate(n32c, relay.n32c_acceptor(), &relay)),
            tokio::spawn(terminate(n32f, relay.n32f_acceptor(), &relay)),
        ];
        let address = DialAddress::Tcp(sbi_address);
        let plain = Arc::new(Plaintext(Protocol::Http2));
        let sbi = Pool::new(plain, address, PoolOptions::default());
        Self { relay, config, seen, sbi, sbi_address, n32c_address, n32f_address, tasks }
    }

    async fn associated(&self, peer: &str) {
        let peer: Fqdn = peer.parse().unwrap();
        let associations = self.relay.associations();
        let deadline = Deadline::after(Duration::from_secs(20));
        associations.ensure(&peer, deadline).await.unwrap();
    }

    pub async fn ask(&self, request: Request<Body>) -> Response<Body> {
        let call = Call::until(Deadline::after(Duration::from_secs(60)));
        self.sbi.call(request, call).await.unwrap().response
    }
}

impl Drop for Sepp {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts TLS connections of one N32 listener.
fn terminate(
    listener: TcpListener,
    acceptor: Option<&Acceptor>,
    relay: &Arc<tessera_sepp::sepp::Sepp>,
) -> impl Future<Output = ()> + use<> {
    let (sepp, acceptor) = (relay.clone(), acceptor.unwrap().clone());
    listen(listener, move |socket| {
        let (sepp, acceptor) = (sepp.clone(), acceptor.clone());
        async move {
            let Ok(mut stream) = acceptor.accept_early(socket).await else { return };
            // A client with early data resumes, so it is authenticated; all others show certificates.
            if !stream.is_early() && stream.handshake().await.is_err() {
                return;
            }
            let Ok(connected) = sepp.identify(stream.facts()) else { return };
            let service = |request| sepp.n32(&connected, request);
            let options = Arc::new(ServerOptions::default());
            serve(AcceptedConnection::tls(stream), options, service, std::future::pending()).await;
        }
    })
}

async fn listen<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(tokio::net::TcpStream) -> F,
) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        socket.set_nodelay(true).unwrap();
        connections.spawn(serve(socket));
    }
}

async fn bind() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Creates a separate directory, below cargo's.
fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("relay-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

impl Function {
    pub async fn start() -> Self {
        let listener = bind().await;
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembers = asked.clone();
        let task = tokio::spawn(listen(listener, move |socket| {
            let asked = remembers.clone();
            async move {
                let service = |request: Request<Body>| {
                    let head = (request.method().clone(), request.uri().to_string());
                    asked.lock().unwrap().push((head.0, head.1, request.headers().clone()));
                    answer(request)
                };
                let options = ServerOptions {
                    body: tessera_proxy::http::body::BodyLimits {
                        max_len: u64::MAX,
                        idle: Duration::from_secs(60),
                    },
                    ..ServerOptions::default()
                };
                let accepted = AcceptedConnection::plaintext(socket);
                serve(accepted, Arc::new(options), service, std::future::pending()).await;
            }
        }));
        Self { address, asked, task }
    }

    /// Returns the head of the last request.
    pub fn last(&self) -> (Method, String, HeaderMap) {
        self.asked.lock().unwrap().last().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// Answers as the last segment of the path demands.
async fn answer(request: Request<Body>) -> Response<Body> {
    let json = |status: u16, text: &'static str| {
        let response =
            Response::builder().status(status).header("content-type", "application/json");
        response
            .header("x-of-function", "yes")
            .header("etag", "yes")
            .body(Body::full(Bytes::from_static(text.as_bytes())))
    };
    let path = request.uri().path().to_owned();
    let response = match path.rsplit('/').next().unwrap() {
        "am-data" => json(200, AM_DATA_BODY),
        "echo" => Ok(echo(request)),
        "created" => {
            let mut response = echo(request);
            *response.status_mut() = StatusCode::CREATED;
            let location = format!("{UDM}/nudm-sdm/v2/x").parse().unwrap();
            response.headers_mut().insert("location", location);
            Ok(response)
        }
        "trailers" => {
            let body = request.into_body().collect_up_to(1000).await.unwrap();
            let status = if body.trailers.is_none() { 204 } else { 409 };
            Response::builder().status(status).body(Body::empty())
        }
        "nothing" => Response::builder().status(204).body(Body::empty()),
        "missing" => json(404, r#"{"status":404,"cause":"USER_NOT_FOUND"}"#),
        "broken" => json(500, r#"{"status":500,"cause":"SYSTEM_FAILURE"}"#),
        "nf-instances" => json(200, DISCOVERED),
        "context" => Response::builder()
            .status(403)
            .header("content-type", "application/problem+json")
            .header("server", "SEPP-sepp2.5gc.mnc070.mcc999.3gppnetwork.org")
            .body(Body::full(r#"{"status":403,"cause":"CONTEXT_NOT_FOUND"}"#.into())),
        "never" => std::future::pending().await,
        _ => Response::builder().status(418).body(Body::empty()),
    };
    response.unwrap()
}

fn echo(request: Request<Body>) -> Response<Body> {
    let kind = request.headers().get("content-type").cloned();
    let mut response = Response::new(request.into_body());
    kind.map(|kind| response.headers_mut().insert("content-type", kind));
    response
}

pub const AM_DATA_BODY: &str = r#"{"gpsis":["msisdn-491700000001"],"subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"1 Gbps"},"nssai":{"defaultSingleNssais":[{"sst":1}]}}"#;

/// Builds a request of the visited network's function to the home network's.
pub fn request(method: Method, path: &str) -> http::request::Builder {
    Request::builder()
        .method(method)
        .uri(format!("http://{VISITED}{path}"))
        .header("3gpp-sbi-target-apiroot", UDM)
}

pub fn empty(builder: http::request::Builder) -> Request<Body> {
    builder.body(Body::empty()).unwrap()
}

pub async fn text(response: Response<Body>) -> String {
    let body = response.into_body().collect_up_to(1 << 20).await.unwrap().data;
    String::from_utf8(body.to_vec()).unwrap()
}
