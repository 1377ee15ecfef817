//! Bytes may arrive in any pieces: every way to connect, cut at every place.

use tessera::wire::{ContentType, NamedGroup};
use tessera_harness::{EARLY_DATA, Mode, Pair, Scene, Sealer, open_all, plain};

/// A scene with small shares, to have fewer places to cut.
fn scene(mode: Mode) -> Scene {
    let mut scene = Scene::new(tessera_null_provider::provider(), mode);
    scene.client.groups = vec![NamedGroup::X25519];
    if mode == Mode::Retry {
        scene.client.groups.push(NamedGroup::X25519MLKEM768);
    }
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.kinds = vec![NamedGroup::X25519];
    }
    scene
}

/// Asserts success, and that data goes both ways.
fn check(pair: &mut Pair, mode: Mode) {
    pair.run();
    pair.client_write(b"ping");
    pair.server_write(b"pong");
    pair.run();
    assert_eq!(pair.to_client.error, None, "{mode:?}");
    assert_eq!(pair.to_server.error, None, "{mode:?}");
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert_eq!(pair.to_server.data, b"ping");
    assert_eq!(pair.to_client.data, b"pong");
    assert!(!pair.to_client.sessions.is_empty());
    let facts = pair.client.facts();
    assert_eq!(facts.psk.is_some(), mode.resumes());
    assert_eq!(facts.hello_retry, mode == Mode::Retry);
    let early = matches!(mode, Mode::Replayable | Mode::FsDhe | Mode::FsKe | Mode::FsPsk);
    assert_eq!(pair.to_server.early_data, if early { EARLY_DATA } else { b"" });
    assert_eq!(pair.to_client.early_data_accepted, early.then_some(true));
}

/// Delivers the flights, one after the other, in the pieces that `pieces` makes of each; returns
/// their lengths.
fn deliver(pair: &mut Pair, mut pieces: impl FnMut(usize, &[u8]) -> Vec<Vec<u8>>) -> Vec<usize> {
    let mut lengths = Vec::new();
    loop {
        let flight = pair.intercept_client();
        let from_client = !flight.is_empty();
        let flight = if from_client { flight } else { pair.intercept_server() };
        if flight.is_empty() {
            return lengths;
        }
        for piece in pieces(lengths.len(), &flight) {
            match from_client {
                true => pair.deliver_to_server(&piece),
                false => pair.deliver_to_client(&piece),
            }
        }
        lengths.push(flight.len());
    }
}

#[test]
fn connections_work_byte_by_byte() {
    for provider in [tessera_null_provider::provider(), tessera_aws_lc::provider()] {
        for mode in Mode::ALL {
            let mut pair = Scene::new(provider, mode).pair();
            deliver(&mut pair, |_, flight| flight.iter().map(|byte| vec![*byte]).collect());
            check(&mut pair, mode);
        }
    }
}

#[test]
fn connections_work_with_flights_cut_at_every_byte() {
    for mode in Mode::ALL {
        let scene = scene(mode);
        let lengths = deliver(&mut scene.pair(), |_, flight| vec![flight.to_vec()]);
        for (cut_flight, len) in lengths.into_iter().enumerate() {
            for at in 1..len {
                let mut pair = scene.pair();
                deliver(&mut pair, |index, flight| {
                    let (a, b) = flight.split_at(if index == cut_flight { at } else { 0 });
                    vec![a.to_vec(), b.to_vec()]
                });
                check(&mut pair, mode);
            }
        }
    }
}

#[test]
fn connections_work_with_data_in_the_same_read_as_the_handshake() {
    for mode in Mode::ALL {
        let mut pair = scene(mode).pair();
        check(&mut pair, mode);
        // What follows the handshake arrives with it: the client's last flight with data, the
        // server's tickets with data.
        let mut pair = scene(mode).pair();
        while !pair.to_client.complete {
            pair.client_to_server();
            let flight = pair.intercept_server();
            pair.deliver_to_client(&flight);
        }
        pair.client_write(b"ping");
        pair.client_to_server();
        assert!(pair.to_server.complete);
        pair.server_write(b"pong");
        pair.server_to_client();
        assert_eq!(pair.to_server.data, b"ping");
        assert_eq!(pair.to_client.data, b"pong");
        assert!(!pair.to_client.sessions.is_empty());
    }
}

/// Cuts a flight's handshake messages into records of `size` bytes, resealing those under handshake
/// keys.
fn reframe(flight: &[u8], sealers: impl Fn() -> Vec<Sealer>, last: usize, size: usize) -> Vec<u8> {
    let mut closers = sealers();
    let mut reframed = Vec::new();
    for (epoch, typ, content) in open_all(flight, &mut sealers()) {
        let size = match typ {
            // Not under application keys: their owner continues to use them, and counts records.
            ContentType::HANDSHAKE if epoch < last => size,
            _ => content.len().max(1),
        };
        for fragment in content.chunks(size) {
            reframed.extend(match epoch {
                0 => plain(typ, fragment),
                _ => closers[epoch - 1].seal(typ, fragment),
            });
        }
    }
    reframed
}

#[test]
fn handshake_messages_are_read_from_records_of_every_size() {
    for mode in Mode::ALL {
        for size in (1..70).chain([100, 255, 256, 400, 1_000]) {
            let scene = scene(mode);
            let mut pair = scene.pair();
            // The first hello, then what follows under keys that exist by then.
            let flight = pair.intercept_client();
            let hello = reframe(&flight, Vec::new, usize::MAX, size);
            let early = tessera_harness::records(&flight);
            let early = early.into_iter().filter(|record| record[0] == 23).collect::<Vec<_>>();
            pair.deliver_to_server(&hello);
            pair.deliver_to_server(&early.concat());
            if mode == Mode::Retry {
                let flight = pair.intercept_server();
                pair.deliver_to_client(&reframe(&flight, Vec::new, usize::MAX, size));
                let flight = pair.intercept_client();
                pair.deliver_to_server(&reframe(&flight, Vec::new, usize::MAX, size));
            }
            let flight = pair.intercept_server();
            let last = scene.server_sealers().len();
            pair.deliver_to_client(&reframe(&flight, || scene.server_sealers(), last, size));
            let flight = pair.intercept_client();
            let last = scene.client_sealers().len();
            pair.deliver_to_server(&reframe(&flight, || scene.client_sealers(), last, size));
            check(&mut pair, mode);
        }
    }
}

#[test]
fn connections_work_with_the_smallest_negotiated_records() {
    for provider in [tessera_null_provider::provider(), tessera_aws_lc::provider()] {
        for mode in Mode::ALL {
            let mut scene = Scene::new(provider, mode);
            scene.client.record_size_limit = Some(64);
            scene.server.record_size_limit = Some(64);
            let mut pair = scene.pair();
            check(&mut pair, mode);
            pair.client_write(&[7; 10_000]);
            pair.server_write(&[8; 10_000]);
            pair.run();
            assert_eq!(pair.to_server.data.len(), 10_004);
            assert_eq!(pair.to_client.data.len(), 10_004);
            let protected = |stream: &[u8]| {
                let records = tessera_harness::records(stream);
                let longest = records.iter().filter(|record| record[0] == 23).map(Vec::len).max();
                longest.unwrap_or(0)
            };
            // 64 with the content type, header and tag.
            assert_eq!(protected(&pair.server_sent), 5 + 64 + 16);
            assert_eq!(protected(&pair.client_sent), 5 + 64 + 16);
        }
    }
}

#[test]
fn a_record_size_limit_binds_only_clients_that_received_it() {
    // A client that doesn't know the extension (RFC 8449) may send whole records.
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::FsDhe);
    scene.server.record_size_limit = Some(64);
    let mut pair = scene.pair();
    check(&mut pair, Mode::FsDhe);
    pair.client_write(&[7; 10_000]);
    pair.run();
    assert_eq!(pair.to_server.data.len(), 10_004);
    // One that does learns the limit after sending its early data.
    for mode in [Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let mut scene = Scene::new(tessera_null_provider::provider(), mode);
        scene.client.record_size_limit = Some(64);
        scene.server.record_size_limit = Some(64);
        let mut pair = scene.pair();
        let written = pair.client.write_early_data(&[7; 10_000], &mut pair.client_output);
        assert_eq!(written, Ok(10_000));
        pair.run();
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.to_server.early_data.len(), EARLY_DATA.len() + 10_000);
        assert!(pair.to_server.complete);
    }
}

/// A small generator, so that a failing seed can be tried again.
struct SmallRandom(u64);

impl SmallRandom {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

#[test]
fn connections_work_in_random_pieces_both_ways() {
    for mode in Mode::ALL {
        for seed in 1..=200 {
            let mut random = SmallRandom(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
            let mut pair = scene(mode).pair();
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            loop {
                to_server.extend(pair.intercept_client());
                to_client.extend(pair.intercept_server());
                if to_server.is_empty() && to_client.is_empty() {
                    break;
                }
                let to_the_server = random.below(2) == 0;
                let queue = if to_the_server { &mut to_server } else { &mut to_client };
                let longest = if random.below(4) == 0 { 2_000 } else { 40 };
                let len = queue.len().min(1 + random.below(longest));
                let piece: Vec<u8> = queue.drain(..len).collect();
                match to_the_server {
                    true => pair.deliver_to_server(&piece),
                    false => pair.deliver_to_client(&piece),
                }
            }
            check(&mut pair, mode);
        }
    }
}
