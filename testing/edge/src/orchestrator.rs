//! `tessera orchestrator run` as a process, which tests call by curl, or over a connection of their own.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tessera::ClientConfig;
use tessera_aws_lc::provider;
use tessera_pki::Authority;
use tessera_test_peers::{Directory, Network, Process, free_port, http as curl};
use tessera_tokio::Connector;
use tessera_tokio::hyper::HttpsConnector;
use tessera_webpki::WebPkiVerifier;

use crate::pool::Pool;

/// An orchestrator of a pool, running or not.
pub struct Orchestrator {
    process: Option<Process>,
    address: SocketAddr,
    operators: Authority,
    directory: Directory,
}

/// A caller whose connection stays open.
pub struct Caller {
    client: Client<HttpsConnector, Full<Bytes>>,
    moves: String,
}

impl Caller {
    /// Moves a client, and returns once the next proxy is announced to it.
    ///
    /// # Panics
    /// If the move is refused.
    pub async fn announce(&self, client: &str, to: &str) {
        let body = json!({ "client": client, "to": to }).to_string();
        let request = Request::post(&self.moves).header("content-type", "application/json");
        let request = request.body(Full::from(body)).unwrap();
        let response = self.client.request(request).await.unwrap();
        let status = response.status();
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&answer));
    }
}

impl Orchestrator {
    /// Starts one for a pool, with these further lines of its section `[moves]`.
    pub fn start(program: &'static str, pool: &Pool, moves: &str) -> Self {
        let directory = Directory::new();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let operators = Authority::new("operators");
        directory.write("ca.pem", operators.pem());
        directory.write_private("own.pem", operators.issue("localhost").both_pem());
        let endpoints = pool.etcd.endpoints();
        let text = format!(
            "[pool]\netcd = {{ endpoints = {endpoints:?}, plaintext-on-private-network = true }}\n\
             ma = 1\ndwell = 1\nclock-skew = \"100ms\"\nprepare = \"10s\"\n\
             [api]\nlisten = \"{address}\"\ncertificate = \"own.pem\"\nca = \"ca.pem\"\n[moves]\n{moves}\n"
        );
        let file = directory.write("orchestrator.toml", text);
        let words = ["orchestrate", &file];
        let process =
            Process::start_compiled("tessera orchestrator", program, Network::Loopback, words);
        process.listens_on(address.port());
        Self { process: Some(process), address, operators, directory }
    }

    /// Returns a caller.
    pub fn caller(&self) -> Caller {
        let verifier = WebPkiVerifier::new(&[self.operators.der()]).unwrap();
        let mut config = ClientConfig::new(provider(), Arc::new(verifier));
        config.protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.credentials = vec![self.operators.issue("caller").credential()];
        let connector = HttpsConnector::new(Connector::new(config.checked().unwrap()));
        Caller {
            client: Client::builder(TokioExecutor::new()).build(connector),
            moves: format!("https://localhost:{}/moves", self.address.port()),
        }
    }

    /// Kills it (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Sends a request; returns the status and the body of the answer.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("https://localhost:{}{path}", self.address.port());
        let [ca, own] = ["ca.pem", "own.pem"].map(|it| self.directory.path(it));
        let body = body.to_string();
        let mut arguments = vec!["--request", method, "--cacert", &ca, "--cert", &own];
        if method == "POST" {
            // An answer to others may come before a body is sent, which curl 7.88 takes for an error.
            arguments.extend(["--header", "content-type: application/json", "--data", &body]);
        }
        arguments.extend(["--write-out", "\n%{http_code}", &url]);
        let answer = curl::curl(&arguments);
        let (body, status) = answer.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }
}
