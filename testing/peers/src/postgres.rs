//! PostgreSQL: a server with its own cluster, and its clients.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, Command};

use crate::{Directory, Network, PATIENCE, Process, free_port};

/// The name of the superuser, who needs no password.
const USER: &str = "tester";

/// A running server. Its data is removed with it.
pub struct Postgres {
    port: u16,
    process: Process,
    // Removed after the process is killed.
    data: Directory,
}

impl Postgres {
    /// Makes a cluster and starts a server on the loopback interface.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_by(crate::spawn, Ipv4Addr::LOCALHOST.into())
    }

    /// As [`start`](Self::start), elsewhere: `spawn` starts the server, for example in a network namespace. There it
    /// listens on this address too, and accepts any client.
    #[track_caller]
    pub fn start_by(spawn: impl FnOnce(Command) -> io::Result<Child>, also_on: IpAddr) -> Self {
        let data = Directory::new();
        let cluster = data.path("cluster");
        let mut made = Process::start(
            "initdb",
            Network::None,
            ["-D", &cluster, "-U", USER, "--auth=trust", "--no-sync", "--no-locale"],
        );
        assert!(made.end_input().ends_within(3 * PATIENCE), "initdb failed: {}", made.output());
        let everybody = "local all all trust\nhost all all all trust\n";
        data.write("cluster/pg_hba.conf", everybody);
        let port = free_port().expect("a port is free");
        let sockets = data.as_path().display().to_string();
        let port_text = port.to_string();
        let listen = format!("listen_addresses=127.0.0.1,{also_on}");
        let settings = [&listen, "fsync=off", "max_connections=200"];
        let mut arguments = vec!["-D", &cluster, "-k", &sockets, "-p", &port_text];
        arguments.extend(settings.iter().flat_map(|setting| ["-c", setting]));
        let process = Process::start_by(spawn, "postgres", &arguments);
        // It listens before it accepts connections.
        process.says("ready to accept connections");
        Self { port, process, data }
    }

    /// Returns where it listens on the loopback interface.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns the path of its Unix socket.
    pub fn socket(&self) -> String {
        self.data.path(&format!(".s.PGSQL.{}", self.port))
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }
}

/// A server that is killed leaves shared memory to the system.
impl Drop for Postgres {
    fn drop(&mut self) {
        self.process.interrupt();
    }
}

/// Runs these statements by `psql` through a forwarder at `address`; returns the results, without decoration. They must
/// succeed.
#[track_caller]
pub fn psql(address: SocketAddr, statements: &str) -> String {
    answer(psql_on_its_way(address, statements))
}

/// As [`psql`], over the Unix socket `.s.PGSQL.5432` of this directory.
#[track_caller]
pub fn psql_over_unix(directory: &Directory, statements: &str) -> String {
    let host = directory.as_path().display().to_string();
    answer(start_psql(statements, &database(&host, 5432)))
}

#[track_caller]
fn answer(mut psql: Process) -> String {
    let succeeded = psql.end_input().ends();
    assert!(succeeded, "psql failed: {}", psql.output());
    psql.stdout()
}

/// Starts `psql` with these statements.
#[track_caller]
pub fn psql_on_its_way(address: SocketAddr, statements: &str) -> Process {
    start_psql(statements, &connection(address))
}

#[track_caller]
fn start_psql(statements: &str, server: &str) -> Process {
    let options = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements, server];
    Process::start("psql", Network::Loopback, options)
}

/// Runs `pgbench -C`, a connection for each transaction, with these further options, which must succeed; returns its
/// report.
#[track_caller]
pub fn pgbench(address: SocketAddr, options: &[&str]) -> String {
    let server = connection(address);
    let arguments = [&["-n", "-C"], options, &[&server]].concat();
    let mut bench = Process::start("pgbench", Network::Loopback, arguments);
    // Many connections on a loaded machine.
    let succeeded = bench.end_input().ends_within(6 * PATIENCE);
    assert!(succeeded, "pgbench failed: {}", bench.output());
    bench.stdout()
}

/// Returns the connection string for `psql` and `pgbench`. The client adds nothing to the tunnel: no TLS, and no round
/// trip that asks for it.
pub fn connection(address: SocketAddr) -> String {
    database(&address.ip().to_string(), address.port())
}

fn database(host: &str, port: u16) -> String {
    format!(
        "host={host} port={port} user={USER} dbname=postgres sslmode=disable gssencmode=disable"
    )
}
