//! Peers by NSS's own programs: the TLS of Firefox.

use std::net::SocketAddr;

use crate::{Directory, Network, Process, free_port, openssl};

/// The certificates and keys of a peer, in NSS's own database.
pub struct Database(Directory);

impl Database {
    /// Creates an empty one, which trusts the authority in this PEM file.
    #[track_caller]
    pub fn new(ca_file: &str) -> Self {
        let database = Self(Directory::new());
        database.run("certutil", &["-N", "--empty-password"]);
        database.run("certutil", &["-A", "-n", "authority", "-t", "CT,,", "-i", ca_file]);
        database
    }

    /// Adds a chain and its key, in PEM files, under a name for the programs' arguments.
    #[track_caller]
    pub fn add(&self, name: &str, chain_file: &str, key_file: &str) {
        let bundle = self.0.path("bundle.p12");
        let from = ["pkcs12", "-export", "-in", chain_file, "-inkey", key_file];
        openssl::run(&[&from[..], &["-name", name, "-passout", "pass:", "-out", &bundle]].concat());
        self.run("pk12util", &["-i", &bundle, "-W", ""]);
    }

    fn path(&self) -> String {
        format!("sql:{}", self.0.as_path().display())
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) {
        let own = ["-d", &self.path()];
        let mut process = Process::start(program, Network::None, arguments.iter().chain(&own));
        assert!(process.end_input().ends(), "{program} failed: {}", process.output());
    }
}

/// Starts `selfserv` with the certificate of this name, for TLS 1.3; it answers one HTTP request per connection.
#[track_caller]
pub fn server(database: &Database, name: &str, arguments: &[&str]) -> (Process, SocketAddr) {
    let port = free_port().expect("a port is free");
    let (path, number) = (database.path(), port.to_string());
    let own = ["-d", &path, "-n", name, "-p", &number, "-V", "tls1.3:tls1.3"];
    let process = Process::start("selfserv", Network::Loopback, own.iter().chain(arguments));
    process.listens_on(port);
    (process, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// Starts `tstclnt` with `address`, for TLS 1.3; it expects this name.
#[track_caller]
pub fn client(database: &Database, address: SocketAddr, name: &str, arguments: &[&str]) -> Process {
    let (path, host, port) =
        (database.path(), address.ip().to_string(), address.port().to_string());
    let own = ["-d", &path, "-h", &host, "-p", &port, "-a", name, "-V", "tls1.3:tls1.3"];
    Process::start("tstclnt", Network::Loopback, own.iter().chain(arguments))
}
