//! Datagrams that are lost, doubled or late: at every position, and at random.

use std::time::Duration;

use tessera::AssociationOptions;
use tessera::EarlyDataStatus;
use tessera::Role;
use tessera::wire::NamedGroup;
use tessera_harness::{DatagramPair, EARLY_DATA, Link, Mode, Numbers, Scene, to};

use crate::world::{DELAY, begin, is_connected, scene, session, start_with, with_id};

/// What happens to one datagram.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Doubled,
    Late,
    DoubledLate,
}

impl Fate {
    const ALL: [Self; 4] = [Self::Lost, Self::Doubled, Self::Late, Self::DoubledLate];

    fn arrivals(self) -> Vec<Duration> {
        match self {
            Self::Lost => Vec::new(),
            Self::Doubled => vec![DELAY, DELAY],
            Self::Late => vec![DELAY * 7],
            Self::DoubledLate => vec![DELAY, DELAY * 400],
        }
    }
}

fn short() -> AssociationOptions {
    AssociationOptions { max_datagram: 300, ..AssociationOptions::default() }
}

fn finish(scene: &Scene, pair: &mut DatagramPair, what: &str) {
    pair.run();
    is_connected(pair, what);
    // Early data is lost, or executed once.
    assert!(
        pair.to_server.early_data.is_empty() || pair.to_server.early_data == EARLY_DATA,
        "{what}"
    );
    let accepted = pair.to_client.early_data_accepted == Some(true);
    if !accepted {
        let rejected =
            scene.mode.resumes() && pair.client.facts().early_data != EarlyDataStatus::NotOffered;
        assert!(!rejected || pair.to_server.early_data.is_empty(), "{what}");
    }
}

#[test]
fn each_datagram_of_a_handshake_may_be_lost_doubled_or_late() {
    for mode in Mode::ALL {
        let scene = scene(mode);
        for side in [Role::Client, Role::Server] {
            for position in 0.. {
                let mut reached = false;
                for fate in Fate::ALL {
                    let met = std::rc::Rc::new(std::cell::Cell::new(false));
                    let meets = met.clone();
                    let link: Link = Box::new(move |sender, number, _| {
                        if (sender, number) == (side, position) {
                            meets.set(true);
                            fate.arrivals()
                        } else {
                            vec![DELAY]
                        }
                    });
                    // The vault holds the key of one flight: a new session for each.
                    let session = scene.mode.resumes().then(|| session(&scene)).flatten();
                    let mut pair = start_with(&scene, session, short(), link);
                    finish(&scene, &mut pair, &format!("{mode:?} {side:?} {position} {fate:?}"));
                    reached |= met.get();
                }
                if !reached {
                    break;
                }
            }
        }
    }
}

/// A lost datagram costs a timeout at most once: what else arrived isn't sent again.
#[test]
fn what_was_acknowledged_is_not_sent_again() {
    let lost = |position: usize| -> Link {
        Box::new(move |sender, number, _| match (sender, number) {
            (Role::Server, number) if number == position => Vec::new(),
            _ => vec![DELAY],
        })
    };
    let run = |link: Link| {
        let mut scene = scene(Mode::Mutual);
        scene.client.groups = vec![NamedGroup::X25519];
        scene.server.groups = vec![NamedGroup::X25519];
        let mut pair = start_with(&scene, None, short(), link);
        pair.run();
        let len = |side: Role| pair.sent[side as usize].iter().map(Vec::len).sum::<usize>();
        (pair.elapsed, len(Role::Server))
    };
    let (_, all) = run(lost(usize::MAX));
    // The second of the server's datagrams, with nothing but protected records.
    let (elapsed, with_loss) = run(lost(1));
    assert!(with_loss < all + 2 * 300, "{all} bytes, and {with_loss} with a loss");
    assert!(elapsed < Duration::from_secs(1), "an ACK came before the timeout: {elapsed:?}");
}

/// How many handshakes in each mode.
const ROUNDS: u64 = 100;

#[test]
fn handshakes_complete_although_a_fifth_is_lost_and_the_rest_reordered() {
    let mut numbers = Numbers(1);
    for round in 0..ROUNDS {
        for mode in Mode::ALL {
            let scene = scene(mode);
            let session = scene.mode.resumes().then(|| session(&scene)).flatten();
            let mut of_link = Numbers(numbers.next());
            let link: Link = Box::new(move |_, _, _| {
                let mut arrivals = Vec::new();
                if !of_link.happens(20) {
                    let late = if of_link.happens(20) { of_link.next() % 300 } else { 0 };
                    arrivals.push(DELAY + Duration::from_millis(late));
                }
                if of_link.happens(10) {
                    arrivals.push(DELAY * 3);
                }
                arrivals
            });
            let mut scene = scene;
            scene.client.handshake_timeout = Duration::from_secs(600);
            scene.server.handshake_timeout = Duration::from_secs(600);
            let mut pair = start_with(&scene, session, short(), link);
            finish(&scene, &mut pair, &format!("round {round}, {mode:?}"));
        }
    }
}

#[test]
fn a_peer_that_never_answers_ends_the_handshake_in_time() {
    let link: Link = Box::new(|_, _, _| Vec::new());
    let mut pair = start_with(&scene(Mode::Full), None, AssociationOptions::default(), link);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.to_client.error, Some(tessera::Error::TimedOut));
    // 0, 1, 3, 7 s; half as long after two timeouts.
    let lens: Vec<_> = pair.sent[Role::Client as usize].iter().map(Vec::len).collect();
    assert!((4..=8).contains(&lens.len()), "{lens:?}");
}

#[test]
fn a_handshake_without_an_answer_ends_even_if_it_may_take_any_time() {
    let mut scene = scene(Mode::Full);
    scene.client.handshake_timeout = Duration::MAX;
    let link: Link = Box::new(|_, _, _| Vec::new());
    let mut pair = start_with(&scene, None, AssociationOptions::default(), link);
    pair.run_for(Duration::from_secs(3600));
    assert_eq!(pair.to_client.error, Some(tessera::Error::TimedOut));
}

/// Its last flight has no other answer than an ACK.
#[test]
fn a_client_that_hears_nothing_after_the_handshake_gives_the_association_up() {
    for is_heard in [false, true] {
        let mut is_complete = false;
        let link: Link = Box::new(move |sender, _, datagram| {
            // From the client's Finished on, what it sends is lost, and perhaps what the server sends.
            is_complete |= sender == Role::Client && datagram[0] & 0xe3 == 0x22;
            let arrives = !is_complete || sender == Role::Server && is_heard;
            if arrives { vec![DELAY] } else { Vec::new() }
        });
        let mut pair = start_with(&scene(Mode::Full), None, AssociationOptions::default(), link);
        while !pair.to_client.complete {
            pair.pass(DELAY);
        }
        pair.write(Role::Server, b"data").expect("writes");
        pair.run();
        assert_eq!(pair.to_client.data.is_empty(), !is_heard);
        assert_eq!(pair.to_client.error, (!is_heard).then_some(tessera::Error::TimedOut));
    }
}

/// RFC 9147 §4.4: on a path for which datagrams are too long, they become shorter. The minimum of IPv4 is found in
/// a handshake's usual time, for both directions.
#[test]
fn a_path_for_shorter_datagrams_is_found() {
    for (carried, within) in [(576 - 28, 5), (400, 120)] {
        let link: Link = Box::new(move |_, _, datagram| match datagram.len() <= carried {
            true => vec![DELAY],
            false => Vec::new(),
        });
        let mut scene = scene(Mode::Mutual);
        scene.client.handshake_timeout = Duration::from_secs(within);
        scene.server.handshake_timeout = Duration::from_secs(within);
        let mut pair = start_with(&scene, None, AssociationOptions::default(), link);
        pair.run();
        is_connected(&mut pair, "short datagrams");
    }
}

/// A client that lacks the ACK sends the flight in new records (`sleep.rs` has such a server).
/// Datagrams that are shortened until such a connection ID leaves room for nothing would end it.
#[test]
fn a_long_connection_id_ends_no_handshake_on_a_path_with_losses() {
    let mut scene = scene(Mode::Full);
    scene.client.handshake_timeout = Duration::from_secs(600);
    scene.server.handshake_timeout = Duration::from_secs(600);
    // Not the first ClientHello and its answer.
    for (side, lost) in [(Role::Client, 1..8), (Role::Server, 1..16)] {
        let link: Link = Box::new(move |sender, number, _| {
            if sender == side && lost.contains(&number) { Vec::new() } else { vec![DELAY] }
        });
        let ids = [with_id(&[7; 255]), with_id(&[8; 255])];
        let mut pair = begin(&scene, to(None), ids, link);
        pair.run();
        is_connected(&mut pair, &format!("{side:?}"));
    }
}

#[test]
fn a_replay_of_the_last_flight_gets_no_answer() {
    let link: Link = Box::new(|_, _, _| vec![DELAY]);
    let mut pair = start_with(&scene(Mode::Full), None, AssociationOptions::default(), link);
    pair.run();
    let last = pair.sent[Role::Client as usize].clone();
    let before = pair.sent[Role::Server as usize].len();
    // The record itself is a replay.
    for datagram in &last {
        pair.deliver(Role::Server, datagram.clone());
    }
    pair.pass(DELAY);
    assert_eq!(pair.sent[Role::Server as usize].len(), before);
    let dropped = pair.server.dropped();
    assert!(dropped.repeated > 0, "{dropped:?}");
}
