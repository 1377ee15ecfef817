//! KeyUpdate (RFC 9147 §8).

use std::time::Duration;

use tessera::Role;
use tessera::{AssociationOptions, Error};
use tessera_harness::{DatagramPair, Link, Mode, Numbers, lossless};

use crate::world::{DELAY, is_connected, scene, scene_with, start};

/// A trip each way, and a quarter of the timeout.
const ACKNOWLEDGED: Duration = Duration::from_millis(300);

fn connected() -> DatagramPair {
    let mut pair = start(&scene(Mode::Full), AssociationOptions::default(), lossless(DELAY));
    pair.run();
    pair
}

#[test]
fn new_keys_are_used_once_the_peer_has_acknowledged_the_message() {
    let mut pair = connected();
    let epoch = |datagram: &[u8]| datagram[0] & 3;
    pair.client.update_keys(false).expect("possible");
    // Another must wait.
    assert!(matches!(pair.client.update_keys(false), Err(Error::TooEarly(_))));
    pair.transmit();
    pair.write(Role::Client, b"under the old keys").expect("writes");
    assert_eq!(epoch(pair.sent[Role::Client as usize].last().expect("sent")), 3);
    pair.pass(ACKNOWLEDGED);
    pair.write(Role::Client, b"under the new keys").expect("writes");
    assert_eq!(epoch(pair.sent[Role::Client as usize].last().expect("sent")), 0);
    pair.client.update_keys(false).expect("possible again");
    pair.pass(ACKNOWLEDGED);
    assert_eq!(pair.to_server.data, b"under the old keysunder the new keys");
    is_connected(&mut pair, "after updates");
}

/// RFC 8446 §4.6.3.
#[test]
fn an_update_that_was_asked_for_precedes_the_next_data() {
    let mut pair = connected();
    pair.client.update_keys(true).expect("possible");
    pair.pass(DELAY);
    pair.write(Role::Server, b"data").expect("writes");
    let sent = &pair.sent[Role::Server as usize];
    let [.., update, data] = &sent[..] else { panic!("two datagrams") };
    // The null provider leaves them readable.
    assert_eq!(update[5], 24, "the type of KeyUpdate");
    assert!(data.windows(4).any(|it| it == b"data"));
    pair.pass(ACKNOWLEDGED);
    pair.write(Role::Server, b"data").expect("writes");
    let last = pair.sent[Role::Server as usize].last().expect("sent");
    assert_eq!(last[0] & 3, 0, "epoch 4");
    pair.pass(DELAY);
    is_connected(&mut pair, "after both updates");
}

/// Each is answered once the side's own is acknowledged.
#[test]
fn updates_that_cross_are_both_answered() {
    let mut pair = connected();
    pair.client.update_keys(true).expect("possible");
    pair.server.update_keys(true).expect("possible");
    pair.pass(ACKNOWLEDGED * 2);
    for (side, name) in [(Role::Client, "client"), (Role::Server, "server")] {
        pair.write(side, b"x").expect("writes");
        assert_eq!(pair.sent[side as usize].last().expect("sent")[0] & 3, 1, "epoch 5: {name}");
    }
    pair.pass(DELAY);
    is_connected(&mut pair, "after four updates");
}

#[test]
fn a_side_that_has_closed_answers_no_update() {
    let mut pair = connected();
    pair.server.close();
    pair.pass(DELAY);
    pair.client.update_keys(true).expect("possible");
    pair.pass(ACKNOWLEDGED);
    pair.write(Role::Client, b"the last word").expect("writes");
    pair.pass(DELAY);
    assert_eq!((pair.to_server.error, pair.to_server.data), (None, b"the last word".to_vec()));
}

/// A lost KeyUpdate, a lost ACK, and data of both epochs in any order.
#[test]
fn updates_survive_loss_and_reordering() {
    for seed in 0..50 {
        let mut pair = connected();
        let mut numbers = Numbers(seed);
        let link: Link = Box::new(move |_, _, _| match numbers.next() % 4 {
            0 => Vec::new(),
            1 => vec![DELAY * 5],
            2 => vec![DELAY, DELAY * 2],
            _ => vec![DELAY],
        });
        pair.link = link;
        for round in 0..40 {
            let (side, request) =
                (if round % 3 == 0 { Role::Server } else { Role::Client }, round % 5 == 0);
            let updated = match side {
                Role::Client => pair.client.update_keys(request),
                Role::Server => pair.server.update_keys(request),
            };
            assert!(matches!(updated, Ok(()) | Err(Error::TooEarly(_))), "{updated:?}");
            pair.write(side, b"data").expect("writes");
            pair.pass(DELAY * 10);
        }
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(300));
        is_connected(&mut pair, &format!("seed {seed}"));
    }
}

/// The epochs of both directions differ then, and with them those of an ACK and of what it names.
#[test]
fn one_side_alone_may_change_its_keys_again_and_again() {
    for side in [Role::Client, Role::Server] {
        let mut pair = connected();
        for round in 0..10 {
            match side {
                Role::Client => pair.client.update_keys(false),
                Role::Server => pair.server.update_keys(false),
            }
            .unwrap_or_else(|error| panic!("{side:?}, round {round}: {error}"));
            pair.pass(ACKNOWLEDGED);
            pair.write(side, b"x").expect("writes");
            pair.pass(DELAY);
        }
        is_connected(&mut pair, &format!("{side:?}"));
    }
}

/// More updates than epochs have bits: the number wraps on the wire only.
#[test]
fn a_hundred_updates_in_both_directions_work() {
    let mut pair = connected();
    for _ in 0..100 {
        pair.client.update_keys(false).expect("possible");
        pair.server.update_keys(false).expect("possible");
        pair.pass(ACKNOWLEDGED);
        pair.write(Role::Client, b"x").expect("writes");
        pair.write(Role::Server, b"x").expect("writes");
        pair.pass(ACKNOWLEDGED);
    }
    assert_eq!((pair.to_client.data.len(), pair.to_server.data.len()), (100, 100));
}

/// Half an hour without a peer: twelve retransmissions and more.
const OUTAGE: Duration = Duration::from_secs(1800);

#[test]
fn an_outage_ends_no_update_and_shortens_no_datagram() {
    let mut pair = connected();
    let most = pair.client.max_data();
    pair.link = Box::new(|_, _, _| Vec::new());
    pair.client.update_keys(false).expect("possible");
    pair.pass(OUTAGE);
    assert_eq!(pair.client.deadline(), None, "it is sent no more");
    assert_eq!(pair.client.max_data(), most);
    pair.link = lossless(DELAY);
    pair.write(Role::Client, b"again").expect("writes");
    pair.pass(ACKNOWLEDGED);
    pair.write(Role::Client, b"under the new keys").expect("writes");
    assert_eq!(pair.sent[Role::Client as usize].last().expect("sent")[0] & 3, 0, "epoch 4");
    pair.client.update_keys(false).expect("possible again");
    pair.pass(ACKNOWLEDGED);
    is_connected(&mut pair, "after an outage");
}

/// Of an update, and at a server of the handshake, whose last flight may come again for four minutes.
#[test]
fn replaced_keys_go_in_time_although_nothing_arrives() {
    let mut pair = connected();
    assert_eq!(pair.client.deadline(), None);
    let of_handshake = pair.server.deadline().expect("the handshake's keys");
    assert!(of_handshake > pair.now().monotonic + Duration::from_secs(239));
    pair.pass(Duration::from_secs(241));
    assert_eq!(pair.server.deadline(), None, "the handshake's keys are gone");
    pair.client.update_keys(false).expect("possible");
    pair.pass(ACKNOWLEDGED);
    pair.write(Role::Client, b"under the new keys").expect("writes");
    pair.pass(DELAY);
    assert_eq!(pair.server.deadline(), Some(pair.now().monotonic + Duration::from_secs(10)));
    pair.pass(Duration::from_secs(10));
    assert_eq!(pair.server.deadline(), None, "the replaced keys are gone");
    is_connected(&mut pair, "under the new keys");
}

/// RFC 8446 §5.5: before the suite's limit, with room for retransmissions.
#[test]
fn keys_are_replaced_before_they_are_used_up_and_never_used_beyond() {
    const LIMIT: usize = 300;
    let scene = scene_with(|suite| suite.with_confidentiality_limit(LIMIT as u64));
    let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
    pair.run();
    for _ in 0..2 * LIMIT {
        pair.write(Role::Client, b"x").expect("writes");
        pair.pass(DELAY);
    }
    assert!(pair.server.newest_record().0 > 3 + 2, "{:?}", pair.server.newest_record());
    // The peer acknowledges no more.
    pair.link = Box::new(|_, _, _| Vec::new());
    let before = pair.sent[Role::Client as usize].len();
    let refused = (0..2 * LIMIT).find_map(|_| pair.write(Role::Client, b"x").err());
    assert!(matches!(refused, Some(Error::TooEarly(_))), "{refused:?}");
    pair.pass(OUTAGE);
    assert!(matches!(pair.write(Role::Client, b"x"), Err(Error::TooEarly(_))));
    let sent = pair.sent[Role::Client as usize].len() - before;
    assert!((LIMIT / 2..=LIMIT).contains(&sent), "{sent} records");
    pair.link = lossless(DELAY);
}
