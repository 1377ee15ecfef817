//! OpenSSL, compiled with Debian's library.

use std::sync::LazyLock;

use tessera_mobile_peers::{Arm, Client, ClientOptions, Program, Server};

use crate::moves;

fn program() -> Program {
    static PATH: LazyLock<String> =
        LazyLock::new(|| Program::compile_openssl(env!("CARGO_TARGET_TMPDIR")));
    Program::new(&PATH)
}

#[test]
fn a_client_goes_on_from_another_address() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_client_moves(&program, arm);
    }
}

#[test]
fn a_client_without_news_waits_for_its_timeouts() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_client_waits_for_its_timeouts(&program, arm);
    }
}

#[test]
fn a_client_whose_server_restarts_connects_again() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_server_restarts(&program, arm, false);
    }
}

#[test]
fn a_client_with_two_interfaces_uses_the_first_that_is_up() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_client_has_two_interfaces(&program, arm);
    }
}

#[test]
fn a_client_that_dies_leaves_the_server_serving() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_client_dies(&program, arm);
    }
}

#[test]
fn a_client_closes_with_its_input_and_trusts_no_stranger() {
    let program = program();
    for arm in Arm::OPENSSL {
        moves::a_client_is_stopped_or_refuses(&program, arm);
    }
}

#[test]
fn a_client_sends_its_clienthello_again() {
    moves::a_clienthello_is_lost(&program(), Arm::OPENSSL[0]);
}

/// Three clients at once have three associations, and only the policies of the paper spend sockets on them.
#[test]
fn each_association_has_sockets_of_its_own_with_the_policies_of_the_paper() {
    let program = program();
    for arm in Arm::OPENSSL {
        let server = Server::start(&program, arm);
        let clients = ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map(|sources| {
            let options = ClientOptions { sources, ..ClientOptions::default() };
            let client = Client::start(&program, arm, server.address(), options);
            client.has_ack(2);
            client
        });
        clients.into_iter().for_each(|client| drop(client.stop()));
        // They came one after the other, so that there was one temporary socket at a time.
        let (sockets, ports) = arm.sockets_and_ports;
        let others = if arm.second_handshake.is_none() { 2 } else { 0 };
        assert_eq!(server.end().sockets_and_ports, (sockets + others, ports + others), "{arm:?}");
    }
}
