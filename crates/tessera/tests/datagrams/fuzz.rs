//! Random datagrams and random lives of associations, from seeds.

use std::collections::HashSet;
use std::time::Duration;

use tessera::face::{
    Arrival, DATAGRAM, HandshakeMessage, HelloPart, HelloReader, RetryState, write_retry,
};
use tessera::{
    AssociationOptions, ClientAssociation, DroppedRecords, Error, Role, ServerAssociation,
};
use tessera_harness::{
    DatagramPair, Link, Mode, Numbers, Scene, at, change, each_seed, garbage, lossless, to,
};

use crate::world::{DELAY, is_connected, start};

const MODES: [Mode; 7] =
    [Mode::Full, Mode::Mutual, Mode::Kem, Mode::KemMutual, Mode::PskDhe, Mode::FsDhe, Mode::FsKe];

/// Starts both ends in a random mode. The null provider's records open whatever is changed, so this isn't its scene.
fn begin(numbers: &mut Numbers) -> DatagramPair {
    let mode = *numbers.pick(&MODES);
    let max_datagram = *numbers.pick(&[120, 400, 1200]);
    let options = AssociationOptions { max_datagram, ..AssociationOptions::default() };
    start(&Scene::new(tessera_aws_lc::provider(), mode), options, lossless(DELAY))
}

/// Delivers what anyone can send who has seen all datagrams.
fn disturb(pair: &mut DatagramPair, numbers: &mut Numbers, side: Role) {
    let seen = pair.sent.concat();
    let datagram = garbage(numbers, &seen);
    pair.deliver(side, datagram);
}

fn total(dropped: DroppedRecords) -> u64 {
    let DroppedRecords { malformed, forged, repeated, without_keys, misplaced } = dropped;
    malformed + forged + repeated + without_keys + misplaced
}

#[test]
fn fuzz_no_datagram_ends_a_handshake_that_has_keys() {
    each_seed(60, |numbers| {
        let mut pair = begin(numbers);
        for _ in 0..40 {
            pair.pass(DELAY / 4);
            // Before that a forged hello ends the attempt.
            if pair.client.newest_record() > (0, 0) {
                disturb(&mut pair, numbers, Role::Client);
            }
            if pair.server.can_write() {
                disturb(&mut pair, numbers, Role::Server);
            }
        }
        pair.run();
        is_connected(&mut pair, "in spite of forged datagrams");
    });
}

#[test]
fn fuzz_a_datagram_before_there_are_keys_ends_an_attempt_at_worst() {
    each_seed(150, |numbers| {
        let mut pair = begin(numbers);
        for _ in 0..10 {
            pair.pass(DELAY / 4);
            let side = *numbers.pick(&[Role::Client, Role::Server]);
            disturb(&mut pair, numbers, side);
        }
        pair.run();
        let errors = [pair.to_client.error.clone(), pair.to_server.error.clone()];
        if errors == [None, None] {
            is_connected(&mut pair, "no one reported an error");
        }
        for error in errors.into_iter().flatten() {
            assert!(!matches!(error, Error::Internal(_) | Error::Misuse(_)), "{error}");
        }
    });
}

/// Awake or asleep: what doesn't open changes a count, and nothing else that either end can see.
#[test]
fn fuzz_no_datagram_changes_an_association_but_a_count() {
    each_seed(60, |numbers| {
        let mut pair = begin(numbers);
        pair.run();
        is_connected(&mut pair, "before");
        pair.pass(LATE_FLIGHTS);
        for _ in 0..50 {
            if numbers.happens(20) {
                let now = pair.now();
                assert!(pair.client.sleep(now) && pair.server.sleep(now));
            }
            let before = visible(&pair);
            let seen = pair.sent.concat();
            let datagram = garbage(numbers, &seen);
            let is_counted = !datagram.is_empty();
            let side = *numbers.pick(&[Role::Client, Role::Server]);
            let counted = [pair.client.dropped(), pair.server.dropped()].map(total)[side as usize];
            pair.deliver(side, datagram);
            let now = [pair.client.dropped(), pair.server.dropped()].map(total)[side as usize];
            assert_eq!(now > counted, is_counted);
            pair.transmit();
            assert_eq!(visible(&pair), before);
        }
        is_connected(&mut pair, "after");
    });
}

/// Returns what shows of both ends.
fn visible(pair: &DatagramPair) -> impl PartialEq + std::fmt::Debug + use<> {
    let of_client = (pair.client.newest_record(), pair.client.deadline(), pair.client.max_data());
    let of_server = (pair.server.newest_record(), pair.server.deadline(), pair.server.max_data());
    let sent = pair.sent.each_ref().map(Vec::len);
    let received = [&pair.to_client, &pair.to_server].map(|it| (it.data.clone(), it.error.clone()));
    (of_client, of_server, sent, received)
}

/// Data, new keys, sleep, forged datagrams and time, in any order, over a link that loses and reorders.
#[test]
fn fuzz_an_association_lives_through_anything_but_silence() {
    each_seed(100, |numbers| {
        let mut pair = begin(numbers);
        pair.run();
        let mut of_link = Numbers(numbers.next());
        let lossy: Link = Box::new(move |_, _, _| {
            let late = of_link.next() % 200;
            let copies = *of_link.pick(&[0, 1, 1, 1, 1, 2]);
            (0..copies).map(|copy| DELAY * (copy + 1) + Duration::from_millis(late)).collect()
        });
        pair.link = lossy;
        let mut written = 0_u64;
        for _ in 0..60 {
            let now = pair.now();
            let side = *numbers.pick(&[Role::Client, Role::Server]);
            match numbers.below(6) {
                0 | 1 => {
                    written += 1;
                    pair.write(side, &written.to_be_bytes()).expect("writes");
                }
                2 => {
                    let request = numbers.happens(50);
                    let updated = match side {
                        Role::Client => pair.client.update_keys(request),
                        Role::Server => pair.server.update_keys(request),
                    };
                    assert!(matches!(updated, Ok(()) | Err(Error::TooEarly(_))), "{updated:?}");
                }
                3 => {
                    // Whether it does hangs on what is under way.
                    let _ = match side {
                        Role::Client => pair.client.sleep(now),
                        Role::Server => pair.server.sleep(now),
                    };
                }
                4 => disturb(&mut pair, numbers, side),
                _ => {
                    let seconds = *numbers.pick(&[0.01, 0.3, 3.0, 15.0, 300.0]);
                    pair.pass(Duration::from_secs_f64(seconds));
                }
            }
        }
        for received in [&pair.to_client.data, &pair.to_server.data] {
            let mut seen = HashSet::new();
            for data in received.chunks(8) {
                let number = u64::from_be_bytes(data.try_into().expect("whole"));
                assert!((1..=written).contains(&number), "{number} was never written");
                assert!(seen.insert(number), "{number} arrived twice");
            }
        }
        pair.link = lossless(DELAY);
        pair.pass(Duration::from_secs(100));
        is_connected(&mut pair, "in the end");
    });
}

/// The keys of cookies are another's, who may seal anything: it is read, or refused.
#[test]
fn fuzz_the_contents_of_a_cookie_may_be_anything() {
    let scene = Scene::new(tessera_aws_lc::provider(), Mode::Full);
    let server = scene.server.checked().expect("it can work");
    let client = scene.client.checked().expect("it can work");
    // In one datagram.
    let options = AssociationOptions { max_datagram: 1 << 14, ..AssociationOptions::default() };
    let mut client =
        ClientAssociation::start(client, to(None), options.clone(), at(0)).expect("starts");
    let (mut first, mut state) = (Vec::new(), Vec::new());
    assert!(client.transmit(at(0), &mut first));
    let first = hello(&first);
    let first = HandshakeMessage::split_from(&first).expect("whole");
    let request = RetryState::request(&server, &DATAGRAM, first, |kept| {
        state = kept.to_vec();
        b"cookie".to_vec()
    });
    let mut datagram = Vec::new();
    write_retry(&request.expect("a request"), &mut datagram).expect("a message");
    let _ = client.read(at(0), &mut datagram).expect("it is read");
    let mut second = Vec::new();
    assert!(client.transmit(at(0), &mut second));
    let message = hello(&second);
    let message = HandshakeMessage::split_from(&message).expect("whole");
    let mut answered = 0;
    each_seed(3_000, |numbers| {
        let mut contents = state.clone();
        if numbers.0 > 0 {
            change(numbers, &mut contents);
        }
        let opened = RetryState::of_cookie(&server, &DATAGRAM, message, |_| Some(contents));
        let Ok(Some(retry)) = opened else { return };
        let arrival = Arrival::default().after_retry(retry);
        let (config, options) = (server.clone(), options.clone());
        let mut association =
            ServerAssociation::start(config, arrival, options, at(0)).expect("starts");
        match association.read(at(0), &mut second.clone()) {
            Ok(_) => answered += 1,
            Err(error) => assert!(error.alert().is_some(), "{error}"),
        }
    });
    assert!(answered > 0, "the unchanged one");
}

/// Returns the ClientHello in a datagram.
fn hello(datagram: &[u8]) -> Vec<u8> {
    match HelloReader::default().read(datagram) {
        HelloPart::Whole { message, .. } => message,
        _ => Vec::new(),
    }
}

/// How long a server keeps the keys of the handshake: twice the maximum segment lifetime.
const LATE_FLIGHTS: Duration = Duration::from_secs(240);
