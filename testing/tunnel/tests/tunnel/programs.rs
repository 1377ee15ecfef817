//! Real programs through tunnels: what works directly also works through every pair of ends.

use tessera_test_peers::postgres::{Postgres, psql_over_unix};
use tessera_test_peers::{Directory, Process};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::applications::Applications;
use tessera_tunnel_tests::ends::{Program, client_end, server_end};
use tessera_tunnel_tests::free_address;
use tessera_tunnel_tests::tessera::{Tunnels, client_section, server_section};

use crate::TESSERA;

const OURS: Program = Program::Tessera(TESSERA);

/// The ends at the client and at the server. The first pairs show that later failures are not their fault.
const PAIRS: [(Program, Program); 8] = [
    (Program::Stunnel, Program::Stunnel),
    (Program::HaProxy, Program::HaProxy),
    (Program::Stunnel, Program::HaProxy),
    (OURS, OURS),
    (OURS, Program::Stunnel),
    (OURS, Program::HaProxy),
    (Program::Stunnel, OURS),
    (Program::HaProxy, OURS),
];

#[test]
fn programs_behave_the_same_directly_and_through_every_pair_of_ends() {
    let applications = Applications::start();
    applications.exercise(&applications.backends());
    let pki = Pki::new();
    for (client, server) in PAIRS {
        eprintln!("{client:?} -> {server:?}");
        let server = server_end(server, &pki, &applications.backends());
        let client = client_end(client, &pki, &server.addresses);
        // Connections later than the first have tickets.
        applications.exercise(&client.addresses);
        is_alive(client.process());
        is_alive(server.process());
        if let (Some(client), Some(_)) = (client.tunnels(), server.tunnels()) {
            // Not way3: SMTP's server speaks first.
            for way in ["way0", "way1", "way2", "way4"] {
                let labels = [&format!("tunnel=\"{way}\""), "verdict=\"accepted\""];
                let accepted = client.metric("tessera_tunnel_early_data_total", &labels);
                assert!(accepted > 0, "{way}: no connection began early");
            }
        }
    }
}

#[test]
fn postgresql_is_reached_from_unix_socket_to_unix_socket() {
    let (postgres, pki, directory) = (Postgres::start(), Pki::new(), Directory::new());
    let (between, replaced) = (free_address(), free_address());
    let listen = format!("unix:{}", directory.path(".s.PGSQL.5432"));
    let sections = server_section(&pki, "db", &between.to_string(), replaced, "")
        .replace(&replaced.to_string(), &format!("unix:{}", postgres.socket()))
        + &client_section(&pki, "app", &listen, between, "");
    let tunnels = Tunnels::run(TESSERA, &sections);
    for number in 0..5 {
        let answer = psql_over_unix(&directory, &format!("SELECT {number}, inet_client_addr()"));
        assert_eq!(answer, format!("{number}|\n"), "not over a Unix socket");
    }
    let accepted = ["role=\"client\"", "verdict=\"accepted\""];
    assert!(tunnels.metric("tessera_tunnel_early_data_total", &accepted) > 0);
}

#[track_caller]
fn is_alive(process: &Process) {
    assert!(process.is_alive(), "{}", process.output());
}
