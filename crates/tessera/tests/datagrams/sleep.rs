//! Associations that sleep.

use std::time::Duration;

use tessera::Role;
use tessera::auth::PeerRejected;
use tessera::wire::AlertDescription;
use tessera::{AssociationOptions, ConnectionId, ConnectionIdUsage, Error};
use tessera_harness::{DatagramPair, Mode, lossless, to};

use crate::world::{DELAY, begin, is_connected, scene, start, with_id};

#[test]
fn an_association_sleeps_between_records_and_goes_on_where_it_was() {
    for mode in Mode::ALL {
        let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
        assert!(!pair.client.sleep(pair.now()), "not before its handshake");
        pair.run();
        for round in 0..5 {
            pair.pass(LATE_FLIGHTS);
            let now = pair.now();
            assert!(pair.client.sleep(now) && pair.server.sleep(now), "{mode:?}");
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
    pair.pass(LATE_FLIGHTS);
    assert!(pair.server.sleep(pair.now()));
    pair.deliver(Role::Server, record);
    assert_eq!(pair.to_server.data, b"once");
    assert_eq!(pair.server.dropped().repeated, 1);
}

#[test]
fn an_idle_server_wakes_where_it_was() {
    for mode in Mode::ALL {
        let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
        pair.run();
        if !mode.is_kem() {
            assert!(pair.server.take_idle(pair.now()).is_none(), "the last flight may come again");
        }
        for round in 0..3 {
            pair.pass(LATE_FLIGHTS);
            pair.write(Role::Client, b"once").expect("writes");
            pair.pass(DELAY);
            let record = pair.sent[Role::Client as usize].last().expect("sent").clone();
            let before = known(&pair);
            let now = pair.now();
            let idle = pair.server.take_idle(now).expect("idle");
            assert_eq!(pair.server.write(b"x", &mut Vec::new()), Err(Error::Closed));
            assert!(pair.server.deadline().is_none() && pair.server.take_idle(now).is_none());
            pair.server = idle.wake();
            assert_eq!(known(&pair), before, "{mode:?}");
            let repeated = pair.server.dropped().repeated;
            pair.deliver(Role::Server, record);
            assert_eq!(pair.server.dropped().repeated, repeated + 1, "{mode:?}");
            is_connected(&mut pair, &format!("{mode:?}, round {round}"));
            pair.client.update_keys(true).expect("possible");
            pair.pass(DELAY * 20);
            is_connected(&mut pair, "an update");
            pair.pass(DELAY * 20);
            assert!(pair.server.take_idle(pair.now()).is_none(), "an earlier record may come");
        }
    }
}

/// Returns what a server knows of its association.
fn known(pair: &DatagramPair) -> String {
    let server = &pair.server;
    let ids = format!("{:?} {:?}", server.connection_ids(), server.connection_id());
    let records = format!("{:?} {:?}", server.newest_record(), server.dropped());
    let others = (server.max_data(), server.resent());
    format!("{:?} {ids} {records} {others:?}", server.facts())
}

/// Returns a pair with connection IDs, long after its handshake.
fn connected() -> DatagramPair {
    let options = [with_id(&[b'c'; 20]), with_id(b"server")];
    let mut pair = begin(&scene(Mode::Full), to(None), options, lossless(DELAY));
    pair.run();
    pair.pass(LATE_FLIGHTS);
    pair
}

/// It needs the keys, or memory that goes.
#[test]
fn an_association_with_something_under_way_does_not_sleep() {
    type Begin = fn(&mut DatagramPair);
    let begin: [(&str, Role, Begin); 5] =
        [
            ("a KeyUpdate", Role::Client, |pair| pair.client.update_keys(false).expect("possible")),
            ("a message", Role::Client, |pair| {
                pair.client.request_connection_ids(1).expect("possible");
            }),
            ("an ACK", Role::Server, |pair| {
                pair.client.request_connection_ids(1).expect("possible");
                pair.pass(DELAY);
            }),
            ("a message of which a part is missing", Role::Server, |pair| {
                pair.client.set_max_datagram(96);
                let ids: Vec<_> =
                    (0..7).map(|n| ConnectionId::new(&[n; 20]).expect("short")).collect();
                pair.client.give_connection_ids(&ids, ConnectionIdUsage::Spare).expect("room");
                let sent = pair.sent[Role::Client as usize].len();
                pair.link = Box::new(move |from, number, _| {
                    if from == Role::Client && number > sent { vec![] } else { vec![DELAY] }
                });
                pair.pass(Duration::from_secs(1));
            }),
            ("an alert", Role::Client, |pair| pair.client.close()),
        ];
    for (what, side, begin) in begin {
        let mut pair = connected();
        let sleeps = |pair: &mut DatagramPair| match side {
            Role::Client => pair.client.sleep(pair.now()),
            Role::Server => pair.server.sleep(pair.now()),
        };
        assert!(sleeps(&mut pair), "before {what}");
        begin(&mut pair);
        assert!(!sleeps(&mut pair), "{what}");
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(60));
        assert!(sleeps(&mut pair), "after {what}");
    }
}

/// Their owner has not learnt of it.
#[test]
fn a_server_is_not_idle_with_a_request_that_waits_for_an_answer_to_its_own_message() {
    let mut pair = connected();
    pair.link = Box::new(|from, _, _| if from == Role::Server { vec![] } else { vec![DELAY] });
    pair.server.request_connection_ids(1).expect("possible");
    pair.client.request_connection_ids(2).expect("possible");
    pair.pass(Duration::from_secs(1800));
    assert!(pair.server.is_acknowledged(), "it has given up");
    assert!(pair.to_server.requested_ids.is_empty());
    assert!(pair.server.take_idle(pair.now()).is_none());
    is_connected(&mut pair, "after an outage");
    assert_eq!(pair.to_server.requested_ids, [2]);
}

#[test]
fn a_server_whose_client_has_closed_is_not_idle() {
    let mut pair = connected();
    pair.client.close();
    pair.pass(DELAY * 20);
    assert!(pair.to_server.closed && pair.server.take_idle(pair.now()).is_none());
    pair.write(Role::Server, b"the last word").expect("writes");
    pair.pass(DELAY);
    assert_eq!(pair.to_client.data, b"the last word");
}

/// The client sends its last flight until it is acknowledged, under the handshake's keys.
#[test]
fn a_server_that_sleeps_acknowledges_the_clients_last_flight_again() {
    let mut scene = scene(Mode::Full);
    // Otherwise a ticket follows the ACK, and shows that the handshake is complete.
    scene.server.tickets = None;
    // All that the server sends is lost, from its flight on.
    let lost_until = DELAY * 50;
    let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
    while !pair.to_client.complete {
        pair.pass(DELAY / 2);
    }
    pair.link = Box::new(|from, _, _| if from == Role::Server { vec![] } else { vec![DELAY] });
    pair.pass(lost_until);
    assert!(pair.to_server.complete && !pair.client.is_acknowledged());
    assert!(pair.server.sleep(pair.now()));
    pair.link = lossless(DELAY);
    pair.pass(Duration::from_secs(30));
    assert!(pair.client.is_acknowledged());
    is_connected(&mut pair, "after the ACK");
    // Its keys go after four minutes.
    pair.pass(LATE_FLIGHTS);
    let last = pair.sent[Role::Client as usize].iter().rfind(|it| it[0] & 0xe3 == 0x22);
    let last = last.expect("sent under the handshake's keys").clone();
    let before = pair.server.dropped();
    pair.deliver(Role::Server, last);
    let after = pair.server.dropped();
    assert!(after.without_keys > before.without_keys, "{after:?}");
    assert_eq!(after.repeated, before.repeated);
}

/// A KeyUpdate of the peer, whose ACK is lost: the peer still uses its old keys.
#[test]
fn an_association_whose_peer_may_use_older_keys_does_not_sleep() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.pass(LATE_FLIGHTS);
    pair.link = Box::new(|from, _, _| if from == Role::Server { vec![] } else { vec![DELAY] });
    pair.client.update_keys(false).expect("possible");
    pair.pass(DELAY * 50);
    assert!(!pair.server.sleep(pair.now()));
    is_connected(&mut pair, "after a lost ACK");
}

/// How long a server keeps the keys of the handshake: twice the maximum segment lifetime.
const LATE_FLIGHTS: Duration = Duration::from_secs(240);

#[test]
fn the_end_of_an_association_that_slept_reaches_the_peer() {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.pass(LATE_FLIGHTS);
    assert!(pair.client.sleep(pair.now()));
    pair.client.close();
    pair.pass(DELAY * 4);
    assert!(pair.to_server.closed);

    // An error, too: the alert that ends it is protected.
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair.pass(LATE_FLIGHTS);
    assert!(pair.server.sleep(pair.now()));
    let why = PeerRejected {
        alert: AlertDescription::CERTIFICATE_REVOKED,
        reason: "the certificate was revoked".to_owned(),
    };
    pair.server.refuse(why);
    pair.pass(DELAY * 4);
    let expected = Error::AlertReceived(AlertDescription::CERTIFICATE_REVOKED);
    assert_eq!(pair.to_client.error, Some(expected));
}
