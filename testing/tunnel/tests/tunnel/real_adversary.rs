//! The adversary in front of real programs: a first flight of theirs takes effect once.

use std::net::SocketAddr;

use tessera_test_peers::postgres::{self, Postgres, pgbench, psql};
use tessera_test_peers::{Directory, redis};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::between::{RecordingForwarder, Treatment, replay};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

/// Both ends in front of a backend, in separate processes, with an adversary between them.
struct Path {
    server: Tunnels,
    server_address: SocketAddr,
    between: RecordingForwarder,
    client: Tunnels,
    client_address: SocketAddr,
    // Its files are read at each start.
    _pki: Pki,
}

impl Path {
    #[track_caller]
    fn to(backend: SocketAddr) -> Self {
        let pki = Pki::new();
        let (server_address, client_address) = (free_address(), free_address());
        let section = server_section(&pki, "db", &server_address.to_string(), backend, "");
        let server = Tunnels::run(TESSERA, &section);
        let between = RecordingForwarder::start(server_address);
        let listen = client_address.to_string();
        let section = client_section(&pki, "app", &listen, between.address(), "");
        let client = Tunnels::run(TESSERA, &section);
        Self { server, server_address, between, client, client_address, _pki: pki }
    }

    fn accepted(&self) -> u64 {
        self.client.metric("tessera_tunnel_early_data_total", &["verdict=\"accepted\""])
    }

    /// Replays everything recorded to the server end; returns how much that was.
    #[track_caller]
    fn replay(&self) -> usize {
        let recorded = self.between.take();
        replay(self.server_address, &recorded).unwrap();
        recorded.len()
    }
}

#[test]
fn redis_counts_each_increment_once() {
    let (_redis, backend) = redis::server();
    let mut path = Path::to(backend);
    let mut count = 0;
    let mut increment = |path: &Path| {
        count += 1;
        assert_eq!(redis::cli(path.client_address, &["INCR", "count"]), count.to_string());
        count
    };
    while path.accepted() < 5 {
        let count = increment(&path);
        assert!(count < 100, "early data is never accepted");
    }
    let recorded = path.between.take();
    let stays = |path: &Path| {
        replay(path.server_address, &recorded).unwrap();
        assert_eq!(redis::cli(backend, &["GET", "count"]), recorded.len().to_string());
    };
    stays(&path);
    path.server.kill();
    path.server.start();
    // In its next life it no longer knows them.
    stays(&path);
}

#[test]
fn postgresql_keeps_each_transaction_of_pgbench_once() {
    let postgres = Postgres::start();
    psql(postgres.address(), "CREATE TABLE done (client int)");
    let path = Path::to(postgres.address());
    let files = Directory::new();
    let script = files.write("transaction.sql", "INSERT INTO done VALUES (:client_id);\n");
    let rows = || psql(postgres.address(), "SELECT count(*) FROM done");
    pgbench(path.client_address, &["-c", "2", "-t", "15", "-f", &script]);
    assert_eq!(rows(), "30\n");
    assert!(path.accepted() > 0, "no connection began early");
    assert!(path.replay() >= 30);
    assert_eq!(rows(), "30\n");
    // If a verdict demands an error, PostgreSQL's client reports it, and nothing was executed.
    path.between.treat(Treatment::CutAnswers);
    let insert = "INSERT INTO done VALUES (1)";
    let mut cut = postgres::psql_on_its_way(path.client_address, insert);
    assert!(!cut.end_input().ends(), "it has no answer");
    path.between.treat(Treatment::Carry);
    path.replay();
    assert_eq!(rows(), "30\n");
    psql(path.client_address, insert);
    assert_eq!(rows(), "31\n");
}
