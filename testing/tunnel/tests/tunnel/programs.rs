//! Real programs through tunnels: what each of them does straight, it does through every pair of ends.

use tessera_test_peers::Process;
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::applications::Applications;
use tessera_tunnel_tests::ends::{Program, client_end, server_end};

use crate::TESSERA;

const OURS: Program = Program::Tessera(TESSERA);

/// The ends at the client and at the server. The first pairs show that what fails later is not their fault.
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
fn what_programs_do_straight_they_do_through_every_pair_of_ends() {
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
    }
}

#[track_caller]
fn is_alive(process: &Process) {
    assert!(process.is_alive(), "{}", process.output());
}
