//! What peers and strangers can do to an authentication with a KEM over datagrams (docs/kem-auth.md §8): other epochs, ACKs
//! of what was never sent, flights that come again, and ends that fall silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tessera::auth::{PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
use tessera::face::Arrival;
use tessera::handshake::ServerQuestion;
use tessera::resume::{KnownServerKey, PskKind};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{
    AssociationOptions, Destination, EarlyDataStatus, Error, IdleAssociation, ReadEvent, Role,
    ServerAssociation,
};
use tessera_harness::{DatagramPair, EARLY_DATA, Link, Mode, at, lossless, to};
use tessera_null_provider::{NULL_KEM_KEY, NullDecapsulator};

use crate::kem_authentication::before_last_flight;
use crate::world::{DELAY, begin, is_connected, scene, session, start, start_with};

const MODES: [Mode; 2] = [Mode::Kem, Mode::KemMutual];

const ACK: u8 = 26;
const DATA: u8 = 23;

/// Where the records of a datagram without connection IDs begin, and the last one's end.
fn records(datagram: &[u8]) -> Vec<usize> {
    let mut bounds = vec![0];
    while let Some(rest) =
        bounds.last().and_then(|at| datagram.get(*at..)).filter(|it| !it.is_empty())
    {
        let is_protected = rest[0] & 0xe0 == 0x20;
        let number = if rest[0] & 8 != 0 { 2 } else { 1 };
        let len = |at: usize| usize::from(u16::from_be_bytes([rest[at], rest[at + 1]]));
        let end = match rest[0] & 4 != 0 {
            _ if !is_protected => 13 + len(11),
            true => 3 + number + len(1 + number),
            false => rest.len(),
        };
        bounds.push(bounds.last().map_or(0, |at| at + end));
    }
    bounds
}

/// A link on which the protected records of one side with these epoch bits become data. The null provider's tags don't
/// cover their type.
fn as_data(side: Role, bits: u8) -> Link {
    Box::new(move |from, _, datagram| {
        for bounds in records(datagram).windows(2) {
            if from == side && datagram[bounds[0]] & 0xe3 == 0x20 | bits {
                datagram[bounds[1] - 17] = DATA;
            }
        }
        vec![DELAY]
    })
}

#[test]
fn data_under_the_keys_of_either_handshake_is_refused() {
    for (mode, side, bits) in [
        (Mode::Kem, Role::Client, 2),
        (Mode::Kem, Role::Client, 0),
        (Mode::Kem, Role::Server, 2),
        (Mode::Kem, Role::Server, 0),
        (Mode::KemMutual, Role::Client, 0),
        (Mode::KemMutual, Role::Server, 0),
    ] {
        let mut pair = start(&scene(mode), AssociationOptions::default(), as_data(side, bits));
        pair.run_for(Duration::from_secs(1));
        let (receiver, received) = match side {
            Role::Client => (pair.server.facts(), &pair.to_server),
            Role::Server => (pair.client.facts(), &pair.to_client),
        };
        let alert = received.error.as_ref().and_then(Error::alert);
        let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
        assert_eq!(alert, expected, "{mode:?}, {side:?}, {bits}");
        assert!(received.data.is_empty() && !received.complete && receiver.peer.is_none());
    }
}

/// Has an end send this content as another type of record, under its newest keys.
fn send_as(pair: &mut DatagramPair, side: Role, typ: u8, content: &[u8]) {
    let mut datagram = Vec::new();
    let written = match side {
        Role::Client => pair.client.write(content, &mut datagram),
        Role::Server => pair.server.write(content, &mut datagram),
    };
    written.expect("writes");
    let at = datagram.windows(content.len()).position(|it| it == content).expect("readable");
    datagram[at + content.len()] = typ;
    let receiver = if side == Role::Client { Role::Server } else { Role::Client };
    pair.deliver(receiver, datagram);
}

fn ack(epoch: u64, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let number = |sequence: u64| [epoch.to_be_bytes(), sequence.to_be_bytes()].concat();
    let list: Vec<u8> = numbers.flat_map(number).collect();
    [&(list.len() as u16).to_be_bytes()[..], &list].concat()
}

/// A pair whose client has sent nothing since the server's last flight arrived.
fn unacknowledged(mode: Mode) -> DatagramPair {
    let mut pair = before_last_flight(&scene(mode));
    pair.link = Box::new(|sender, _, _| match sender {
        Role::Client => Vec::new(),
        Role::Server => vec![DELAY],
    });
    pair.pass(DELAY);
    // The client's flight was under way.
    while !pair.to_client.complete {
        pair.pass(DELAY / 4);
    }
    assert!(!pair.server.is_acknowledged() && pair.to_server.complete);
    pair
}

#[test]
fn acks_of_records_that_were_never_sent_change_nothing() {
    for mode in MODES {
        let mut pair = unacknowledged(mode);
        for epoch in [0, 1, 2, 3, 5, 6, 8, 11, 12, u64::MAX] {
            send_as(&mut pair, Role::Client, ACK, &ack(epoch, 0..40));
            assert!(!pair.server.is_acknowledged(), "{mode:?}, {epoch}");
        }
        for epoch in [4, 7] {
            send_as(&mut pair, Role::Client, ACK, &ack(epoch, 100..140));
            send_as(&mut pair, Role::Client, ACK, &ack(epoch, u64::MAX - 40..u64::MAX));
        }
        assert!(!pair.server.is_acknowledged(), "{mode:?}");
        assert_eq!(pair.to_server.error, None);
        pair.link = lossless(DELAY);
        pair.run();
        assert!(pair.server.is_acknowledged());
        is_connected(&mut pair, &format!("{mode:?}"));
    }
}

/// RFC 9147 §5.8: what comes again is a replay, and nothing answers it.
#[test]
fn flights_that_come_again_for_ever_get_no_answer_and_change_nothing() {
    for mode in MODES {
        for pause in [DELAY, Duration::from_secs(300)] {
            let mut pair = start(&scene(mode), AssociationOptions::default(), lossless(DELAY));
            pair.run();
            pair.pass(pause);
            let seen = pair.sent.clone();
            for _ in 0..50 {
                for datagram in &seen[Role::Client as usize] {
                    pair.deliver(Role::Server, datagram.clone());
                }
                for datagram in &seen[Role::Server as usize] {
                    pair.deliver(Role::Client, datagram.clone());
                }
                pair.pass(DELAY);
            }
            assert_eq!(pair.sent, seen, "{mode:?}, {pause:?}");
            is_connected(&mut pair, &format!("{mode:?}"));
        }
    }
}

/// It sends its last flight again some times, at growing distances, and then gives up.
#[test]
fn a_client_that_acknowledges_nothing_gets_the_last_flight_a_few_times() {
    for mode in MODES {
        let mut pair = unacknowledged(mode);
        let sent = |pair: &DatagramPair| pair.sent[Role::Server as usize].concat().len();
        let (before, resent) = (sent(&pair), pair.server.resent());
        pair.pass(Duration::from_secs(600));
        assert_eq!(pair.to_server.error, Some(Error::TimedOut), "{mode:?}");
        let more = sent(&pair) - before;
        println!("{mode:?}: {before} bytes, and {more} in vain");
        assert!(pair.server.resent() > resent && more < 2 * before, "{more} of {before}");
    }
}

/// The handshake's keys go with its last flight, and those of data change as usual.
#[test]
fn keys_are_updated_after_the_handshake_and_not_before_its_end() {
    for mode in MODES {
        let mut scene = scene(mode);
        scene.client.data_to_implicitly_authenticated_servers = true;
        let mut pair = before_last_flight(&scene);
        assert!(matches!(pair.client.update_keys(true), Err(Error::TooEarly(_))));
        assert!(pair.client.export_keying_material(b"x", b"", &mut [0; 8]).is_err());
        pair.run();
        for round in 0..20 {
            pair.client.update_keys(round % 2 == 0).expect("possible");
            pair.pass(DELAY * 20);
            pair.server.update_keys(round % 3 == 0).expect("possible");
            pair.pass(DELAY * 20);
            is_connected(&mut pair, &format!("{mode:?}, {round}"));
        }
        // The first two that both sides asked for come with the other's.
        assert!(pair.server.newest_record().0 >= 7 + 20, "{:?}", pair.server.newest_record());
    }
}

#[test]
fn early_data_with_forward_secrecy_follows_an_authentication_with_a_kem() {
    for mode in MODES {
        let mut scene = scene(mode);
        let early = crate::world::scene(Mode::FsDhe);
        scene.client.policy = early.client.policy;
        scene.server.policy = early.server.policy;
        let session = session(&scene);
        assert!(session.is_some());
        let mut pair = start_with(&scene, session, AssociationOptions::default(), lossless(DELAY));
        pair.run();
        let facts = pair.client.facts();
        assert_eq!(
            (facts.psk, facts.early_data),
            (Some(PskKind::ForwardSecret), EarlyDataStatus::Accepted)
        );
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
        assert!(pair.client.facts().peer.is_some());
        assert_eq!(pair.server.facts().peer.is_some(), mode.is_mutual());
        is_connected(&mut pair, &format!("{mode:?}"));
    }
}

/// Its answers tell nothing of the secret: neither end reports more than that time has passed.
#[test]
fn an_encapsulation_that_was_changed_shows_as_silence() {
    let mut scene = scene(Mode::Kem);
    // The null provider's records open whatever is changed, but under other keys.
    scene.server.credentials = vec![tessera_harness::kem_credential()];
    let mut key = vec![0x4b; 1184];
    key[0] ^= 1;
    scene.server.credentials[0].chain = vec![key];
    let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
    pair.run_for(Duration::from_secs(900));
    assert_eq!(pair.to_client.error, Some(Error::TimedOut));
    assert_eq!(pair.to_server.error, Some(Error::TimedOut));
    assert!(!pair.to_client.complete && !pair.to_server.complete);
    assert!(pair.client.facts().peer.is_none());
}

/// Delivers a datagram to the server; returns what it asks its owner.
fn asks(pair: &mut DatagramPair, mut datagram: Vec<u8>) -> Option<ServerQuestion> {
    let (now, mut consumed) = (pair.now(), 0);
    loop {
        let progress = pair.server.read(now, &mut datagram[consumed..]).expect("reads");
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::Question(question) => return Some(question),
            ReadEvent::NeedInput | ReadEvent::WaitingForAnswer => return None,
            _ => (),
        }
    }
}

/// The client sends its flight again and again meanwhile.
#[test]
fn a_decapsulation_may_take_long_and_one_that_never_ends_times_out() {
    for (mode, is_answered) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let mut scene = scene(mode);
        let scheme = *NullDecapsulator.scheme();
        scene.server.credentials[0].key = PrivateKey::Elsewhere(vec![scheme]);
        let link: Link =
            Box::new(|from, _, _| if from == Role::Client { vec![] } else { vec![DELAY] });
        let mut pair = start(&scene, AssociationOptions::default(), link);
        let (mut question, mut read) = (None, 0);
        while question.is_none() {
            pair.pass(DELAY);
            let arrived = pair.sent[Role::Client as usize].split_off(read);
            read += arrived.len();
            pair.sent[Role::Client as usize].extend(arrived.clone());
            question = arrived.into_iter().find_map(|datagram| asks(&mut pair, datagram));
        }
        let Some(ServerQuestion::Decapsulate(asked)) = question else { panic!("decapsulates") };
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(5));
        assert!(!pair.to_server.complete && pair.to_server.error.is_none());
        if !is_answered {
            pair.pass(Duration::from_secs(900));
            assert_eq!(pair.to_server.error, Some(Error::TimedOut), "{mode:?}");
            continue;
        }
        let answer = NullDecapsulator.decapsulate(&asked.question.encapsulation);
        let now = pair.now();
        assert_eq!(pair.server.answer(asked.token, answer, now), Ok(()));
        pair.run();
        is_connected(&mut pair, &format!("{mode:?}"));
    }
}

/// RFC 9147 §5.8.1: a client that sends its flight again lacks the answer, though tickets are part of it.
#[test]
fn a_client_that_sends_its_flight_again_gets_the_last_flight_at_once() {
    for mode in MODES {
        let patient = AssociationOptions {
            first_timeout: Duration::from_secs(8),
            measures_round_trips: false,
            ..AssociationOptions::default()
        };
        let both = [AssociationOptions::default(), patient];
        let mut pair = begin(&scene(mode), to(None), both, lossless(DELAY));
        while !pair.client.facts().server_is_implicit {
            pair.pass(DELAY / 4);
        }
        pair.link = Box::new(|from, _, _| if from == Role::Server { vec![] } else { vec![DELAY] });
        pair.pass(DELAY * 2);
        assert!(pair.to_server.complete && !pair.to_client.complete);
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(4));
        assert!(pair.to_client.complete, "{mode:?}");
        is_connected(&mut pair, &format!("{mode:?}"));
    }
}

#[test]
fn a_frozen_association_thaws_at_once_and_with_epochs_of_data_alone() {
    for mode in MODES {
        let scene = scene(mode);
        let mut pair = start(&scene, AssociationOptions::default(), lossless(DELAY));
        pair.run();
        let (now, mut bytes) = (pair.now(), Vec::new());
        assert!(pair.server.freeze(now, &mut bytes), "the last flight was its own");
        let thaw = |bytes: &[u8]| IdleAssociation::thaw(bytes, &scene.server.provider, now);
        pair.server = thaw(&bytes).expect("whole").wake();
        is_connected(&mut pair, &format!("{mode:?}"));
        pair.client.update_keys(true).expect("possible");
        pair.pass(DELAY * 20);
        is_connected(&mut pair, "an update");
        let with = |at: usize, epoch: u8| {
            let mut changed = bytes.clone();
            changed[at + 7] = epoch;
            thaw(&changed).is_some()
        };
        let mut places = (0..bytes.len() - 7).filter(|at| bytes[*at..][..8] == 7u64.to_be_bytes());
        assert!(places.clone().any(|at| with(at, 8) && (3..7).all(|epoch| !with(at, epoch))));
        assert!(places.all(|at| with(at, 7)));
    }
}

/// Counts what it decapsulates.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Decapsulator for Counted {
    fn scheme(&self) -> &SignatureScheme {
        NullDecapsulator.scheme()
    }

    fn public_key(&self) -> Option<&[u8]> {
        NullDecapsulator.public_key()
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        NullDecapsulator.decapsulate(encapsulation)
    }
}

/// docs/kem-auth.md §9: over datagrams a server demands a cookie first.
#[test]
fn nothing_is_decapsulated_for_an_address_that_is_not_proved() {
    let mut scene = scene(Mode::Kem);
    let counted = Arc::new(Counted::default());
    scene.server.credentials[0].key = PrivateKey::Decapsulates(counted.clone());
    let public_key = PeerPublicKey::new(*counted.scheme(), NULL_KEM_KEY.to_vec());
    let known = KnownServerKey { public_key, identity: PeerIdentity::default() };
    for (is_proved, expected) in [(false, 0), (true, 1)] {
        let known_server_key = Some(Box::new(known.clone()));
        let destination = Destination { known_server_key, ..to(None) };
        let options = || AssociationOptions::default();
        let both = [options(), options()];
        let mut pair = begin(&scene, destination, both, lossless(DELAY));
        if !is_proved {
            let config = scene.server.clone().checked().expect("works");
            let arrival = Arrival::default().from_unproved_address();
            let server = ServerAssociation::start(config, arrival, options(), at(0));
            pair.server = server.expect("starts");
        }
        pair.pass(DELAY * 3 / 2);
        assert_eq!(counted.0.load(Ordering::Relaxed), expected);
    }
}
