//! Associations that sleep.

use tessera::AssociationOptions;
use tessera::Role;
use tessera_harness::{Mode, lossless};

use crate::world::{DELAY, is_connected, scene, start};

#[test]
fn an_association_sleeps_between_records_and_goes_on_where_it_was() {
    for mode in Mode::ALL {
        let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
        assert!(!pair.client.sleep(), "not before its handshake");
        pair.run();
        for round in 0..5 {
            assert!(pair.client.sleep() && pair.server.sleep(), "{mode:?}");
            if round == 3 {
                pair.client.update_keys(true).expect("possible");
                pair.pass(DELAY * 20);
            }
            is_connected(&mut pair, &format!("{mode:?}, round {round}"));
            pair.pass(DELAY * 20);
        }
    }
}

#[test]
fn replays_are_recognised_by_an_association_that_slept() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.write(Role::Client, b"once").expect("writes");
    pair.pass(DELAY);
    let record = pair.sent[Role::Client as usize].last().expect("sent").clone();
    assert!(pair.server.sleep());
    pair.deliver(Role::Server, record);
    assert_eq!(pair.to_server.data, b"once");
    assert_eq!(pair.server.dropped().repeated, 1);
}

#[test]
fn an_association_with_a_message_under_way_does_not_sleep() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.client.update_keys(false).expect("possible");
    assert!(!pair.client.sleep());
    pair.pass(DELAY * 20);
    assert!(pair.client.sleep());
}
