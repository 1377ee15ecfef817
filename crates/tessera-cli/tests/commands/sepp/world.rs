//! Two operators, each with a SEPP in its own process, and the home network's function.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{Request, Response};
use tessera_proxy::demo::{self, OperatorIdentity};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::server::{AcceptedConnection, ServerOptions, serve};
use tessera_test_peers::{Directory, free_port};

use crate::program::{P256, Pki, tessera};
use crate::running::RunningTunnel;

pub(crate) const HOME: &str = demo::HOME.fqdn;
pub(crate) const VISITED: &str = demo::VISITED.fqdn;
pub(crate) const UDM: &str = "udm.5gc.mnc070.mcc999.3gppnetwork.org";

/// Files of both operators.
pub(crate) struct World {
    pub(crate) files: Directory,
    pub(crate) home: Operator,
    pub(crate) visited: Operator,
}

/// One of them.
pub(crate) struct Operator {
    identity: OperatorIdentity,
    pub(crate) pki: Pki,
    sbi: SocketAddr,
    n32c: SocketAddr,
    n32f: SocketAddr,
}

impl Operator {
    fn new(identity: OperatorIdentity) -> Self {
        let pki = Pki::new(P256);
        pki.issue("sepp", &format!("subjectAltName=DNS:{}", identity.fqdn), P256);
        let place = || SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
        Self { identity, pki, sbi: place(), n32c: place(), n32f: place() }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            files: Directory::new(),
            home: Operator::new(demo::HOME),
            visited: Operator::new(demo::VISITED),
        }
    }

    /// Returns the initial configuration of an operator.
    pub(crate) fn text(&self, own: &Operator, other: &Operator, more: &str) -> String {
        format!(
            "[process]\nadmin = \"unix:{}\"\nlog = \"json\"\ndrain = \"5s\"\nthreads = 2\n\
             {}key = \"{}\"\n{}{}address = [\"{}\"]\n{more}\n",
            self.admin(own),
            own.identity.own(own.pki.path("sepp.pem"), [own.sbi, own.n32c, own.n32f]),
            own.pki.path("sepp.key"),
            other.identity.trust(other.pki.path("root.pem")),
            other.identity.peer(),
            other.n32c,
        )
    }

    pub(crate) fn write(&self, own: &Operator, text: &str) -> String {
        self.files.write(&format!("{}.toml", own.identity.name), text)
    }

    /// Starts both SEPPs; the home network's uses this function.
    pub(crate) fn start(&self, udm: SocketAddr) -> [RunningTunnel; 2] {
        let hosts = format!("[sbi]\nhosts = {{ \"{UDM}\" = \"{udm}\" }}\n");
        let home = self.write(&self.home, &self.text(&self.home, &self.visited, &hosts));
        let visited = self.write(&self.visited, &self.text(&self.visited, &self.home, ""));
        let running = [home, visited].map(|file| {
            let running = RunningTunnel::spawn(tessera().args(["sepp", "run", &file]));
            running.says("listening");
            running
        });
        for running in &running {
            running.says("the association is established");
        }
        running
    }

    fn admin(&self, own: &Operator) -> String {
        self.files.path(&format!("{}.sock", own.identity.name))
    }

    /// Returns what the admin socket answers.
    pub(crate) fn ask(&self, own: &Operator, method: &str, path: &str) -> String {
        let mut socket = UnixStream::connect(self.admin(own)).unwrap();
        write!(socket, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    }

    /// Connects as a network function of this operator.
    pub(crate) fn connect(&self, own: &Operator) -> TcpStream {
        TcpStream::connect(own.sbi).unwrap()
    }

    /// Returns what a network function of this operator is answered.
    pub(crate) fn request(&self, own: &Operator, method: &str, target: &str, path: &str) -> String {
        let mut socket = self.connect(own);
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: sepp\r\nConnection: close\r\n\
             3gpp-Sbi-Target-apiRoot: http://{target}:8000\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        text
    }
}

/// Starts a network function that answers with the request it received.
pub(crate) async fn udm() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = Arc::new(ServerOptions::default());
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let answer = async |request: Request<Body>| {
                let json = answer_to(request.method().as_str(), request.uri().path());
                Response::builder()
                    .header(CONTENT_TYPE, "application/json")
                    .body(Body::full(json.into()))
                    .unwrap()
            };
            let options = options.clone();
            tokio::spawn(async move {
                let forever = std::future::pending();
                serve(AcceptedConnection::plaintext(socket), options, answer, forever).await
            });
        }
    });
    address
}

/// Returns an AccessAndMobilitySubscriptionData (TS 29.503) that contains the request.
pub(crate) fn answer_to(method: &str, path: &str) -> String {
    format!(r#"{{"sharedAmDataIds":["{method} {path}"]}}"#)
}
