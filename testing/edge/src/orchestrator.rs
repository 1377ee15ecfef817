//! `tessera orchestrator run` as a process, which tests call by curl.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::Value;
use tessera_pki::Authority;
use tessera_test_peers::{Directory, Network, Process, free_port, http};

use crate::pool::Pool;

/// An orchestrator of a pool, running or not.
pub struct Orchestrator {
    process: Option<Process>,
    address: SocketAddr,
    directory: Directory,
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
        Self { process: Some(process), address, directory }
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
        let answer = http::curl(&[
            "--request",
            method,
            "--cacert",
            &ca,
            "--cert",
            &own,
            "--header",
            "content-type: application/json",
            "--data",
            &body,
            "--write-out",
            "\n%{http_code}",
            &url,
        ]);
        let (body, status) = answer.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }
}
