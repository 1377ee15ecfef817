//! The stacks that `scripts/mobile-peers` fetches and builds; its `--test` runs these.

use tessera_mobile_peers::{Arm, Program};

use crate::{cost, moves};

#[track_caller]
fn program(name: &str) -> Program {
    let folder = std::env::var("MOBILE_PEERS").expect("scripts/mobile-peers --test sets it");
    Program::new(&format!("{folder}/{name}"))
}

#[track_caller]
fn passes(name: &str, arm: Arm) {
    let program = program(name);
    moves::a_client_moves(&program, arm);
    moves::a_client_waits_for_its_timeouts(&program, arm);
    moves::a_client_has_two_interfaces(&program, arm);
    moves::a_client_dies(&program, arm);
    // quinn's sends a stateless reset (RFC 9000 §10.3).
    moves::a_server_restarts(&program, arm, arm == Arm::QUINN);
    moves::a_client_is_stopped_or_refuses(&program, arm);
    if arm != Arm::QUINN {
        moves::a_clienthello_is_lost(&program, arm);
    }
    cost::print(&program, arm);
}

#[test]
#[ignore = "needs Go"]
fn pion_goes_on_from_another_address() {
    passes("pion-peer", Arm::PION);
}

#[test]
#[ignore = "needs Maven"]
fn scandium_goes_on_from_another_address() {
    passes("scandium-peer", Arm::SCANDIUM);
}

#[test]
#[ignore = "is built in a workspace of its own"]
fn quinn_goes_on_from_another_address() {
    passes("quinn-peer", Arm::QUINN);
}

#[test]
#[ignore = "prints a table for the others' rows"]
fn openssl_is_measured_too() {
    let program = program("openssl-peer");
    for arm in Arm::OPENSSL {
        cost::print(&program, arm);
    }
}
