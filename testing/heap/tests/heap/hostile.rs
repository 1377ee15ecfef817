//! Configurations of every kind, and peers that hold the keys and misbehave: what they take is at most what is stated.

use std::sync::Arc;

use tessera::wire::{ContentType, ExtensionType, HandshakeType};
use tessera::{Destination, Limits, Padding, Role};
use tessera_harness::{Numbers, Sealer, Secrets, each_seed, message, plain, rewrite, vec16};
use tessera_heap_tests::heap;

use crate::ends::Ends;
use crate::provider::PROVIDER;
use crate::worlds::{Random, World};

const NO_LIMIT: isize = isize::MAX / 2;

#[test]
fn fuzz_no_configuration_takes_more_than_it_states() {
    let (mut complete, mut resumed, mut runs) = (0, 0, 0);
    let mut closest = [0.0f64; 2];
    each_seed(40, |numbers| {
        let seed = numbers.0;
        let mut random = Random { numbers };
        let world = World::random(&mut random);
        let (client, server) = (world.client.clone(), world.server.clone());
        let (Ok(client), Ok(server)) = (client.checked(), server.checked()) else { return };
        let ends = Ends { client, server };
        for role in [Role::Client, Role::Server] {
            let mut session = None;
            for piece in [1, 100, 100_000, 300] {
                let destination = Destination { session: session.map(Box::new), ..world.to() };
                let is_resumption = destination.session.is_some();
                let needed = match role {
                    Role::Client => world.client.heap_needed(&destination),
                    Role::Server => world.server.heap_needed(),
                };
                let Ok(mut pair) = ends.start_with(destination, role, NO_LIMIT) else { return };
                let peak = pair.run(piece).peak as usize;
                runs += 1;
                if pair.client.is_complete && pair.server.is_complete {
                    complete += 1;
                    resumed += usize::from(is_resumption);
                }
                let at = usize::from(role == Role::Server);
                closest[at] = closest[at].max(peak as f64 / needed as f64);
                assert!(
                    peak <= needed,
                    "{role:?}, pieces of {piece}, session {is_resumption}: {peak} of {needed} (seed {seed}); {:?} {:?}; padding {:?} {:?}; record size {:?} {:?}; limits {:?} {:?}; errors {:?} {:?}",
                    world.client.groups,
                    world.server.groups,
                    world.client.padding,
                    world.server.padding,
                    world.client.record_size_limit,
                    world.server.record_size_limit,
                    world.client.limits,
                    world.server.limits,
                    pair.client.error,
                    pair.server.error,
                );
                session = pair.client.sessions.pop();
            }
        }
    });
    println!("{runs} connections, {complete} complete, {resumed} resumed; closest {closest:?}");
    assert!(complete > 30 && resumed > 5, "{complete} {resumed}");
}

/// A server that holds the keys, and sends what it likes.
#[test]
fn fuzz_no_server_makes_a_client_take_more_than_it_states() {
    let (mut flights, mut tickets, mut closest) = (0, 0, 0.0f64);
    each_seed(60, |numbers| {
        let seed = numbers.0;
        let mut random = Random { numbers };
        let mut world = World::random(&mut random);
        world.server.limits = Limits::default();
        world.server.padding = Padding::None;
        world.server.record_size_limit = None;
        let secrets = Arc::new(Secrets::default());
        world.server.key_log = Some(secrets.clone());
        world.server.tickets = None;
        world.server.groups = world.client.groups.clone();
        world.server.suites = vec![world.client.suites[0]];
        let (client, server) = (world.client.clone(), world.server.clone());
        let (Ok(client), Ok(server)) = (client.checked(), server.checked()) else { return };
        let suite = PROVIDER.suite(world.server.suites[0]).unwrap();
        let ends = Ends { client, server };
        for _ in 0..4 {
            secrets.forget();
            let needed = world.client.heap_needed(&world.to());
            let Ok(mut pair) = ends.start_with(world.to(), Role::Client, NO_LIMIT) else { return };
            let piece = *random.numbers.pick(&[1, 50, 1000, 100_000]);
            let hello = pair.client.sent();
            pair.server.input.extend(hello);
            pair.server.read();
            let flight = pair.server.sent();
            let sealers = || -> Vec<Sealer> {
                secrets.sealer(suite, "SERVER_HANDSHAKE_TRAFFIC_SECRET").into_iter().collect()
            };
            let changes = random.numbers.happens(60);
            let limits = world.client.limits;
            let flight = if sealers().is_empty() {
                flight
            } else {
                rewrite(&flight, sealers, |it| {
                    if changes && it[0] != 20 {
                        enlarge(random.numbers, it, limits);
                    }
                })
            };
            flights += 1;
            for part in flight.chunks(piece) {
                pair.client.input.extend_from_slice(part);
                pair.client.read();
            }
            pair.client.sent();
            if pair.client.is_complete {
                let mut sealer = secrets.sealer(suite, "SERVER_TRAFFIC_SECRET_0").unwrap();
                let size = *random.numbers.pick(&[1usize, 2, 3]);
                for _ in 0..random.numbers.below(10) {
                    let mut sent = Vec::new();
                    for _ in 0..=random.numbers.below(12) {
                        sent.extend(ticket(random.numbers, limits.handshake_message / size));
                        tickets += 1;
                    }
                    let record = *random.numbers.pick(&[1, 100, 3000]);
                    let record = record.min(
                        world.client.record_size_limit.map_or(16_384, |it| usize::from(it) - 1),
                    );
                    for part in sent.chunks(record) {
                        pair.client.input.extend(sealer.seal(ContentType::HANDSHAKE, part));
                        pair.client.read();
                    }
                    if random.numbers.happens(50) {
                        let update = message(HandshakeType::KEY_UPDATE, &[1]);
                        pair.client.input.extend(sealer.seal(ContentType::HANDSHAKE, &update));
                        sealer.update();
                    }
                    if random.numbers.happens(50) {
                        pair.client.input.extend(sealer.seal(ContentType::APPLICATION_DATA, b"d"));
                    }
                    pair.client.read();
                    pair.client.sent();
                    pair.client.sessions.clear();
                }
            }
            let peak = heap().peak as usize;
            closest = closest.max(peak as f64 / needed as f64);
            assert!(
                peak <= needed,
                "{peak} of {needed} (seed {seed}) {:?} complete {} {:?} padding {:?}",
                pair.client.error,
                pair.client.is_complete,
                limits,
                world.client.padding
            );
        }
    });
    println!("{flights} flights, {tickets} tickets; closest {closest}");
    assert!(tickets > 100, "{tickets}");
}

/// Makes a message of a server's flight longer, up to what the client reads.
fn enlarge(numbers: &mut Numbers, it: &mut Vec<u8>, limits: Limits) {
    let typ = it[0];
    let most = match typ {
        11 => limits.certificate_message,
        2 => return,
        _ => limits.handshake_message,
    };
    let room = most.saturating_sub(12);
    match typ {
        // EncryptedExtensions with what no client asked for, after what it has.
        8 => {
            let len = numbers.below(room.max(1));
            let mut extensions = it[6..].to_vec();
            if numbers.happens(50) {
                extensions.extend([0xff, 0x80]);
                extensions.extend(vec16(&vec![1; len.saturating_sub(extensions.len())]));
            }
            *it = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&extensions));
        }
        // CertificateRequest with many schemes, many authorities, or unknown extensions.
        13 => {
            let mut extensions = Vec::new();
            let half = room / 2;
            let schemes: Vec<u8> = [4, 3].repeat((numbers.below(half.max(2)) / 2).max(1));
            extensions.extend([0, 13]);
            extensions.extend(vec16(&vec16(&schemes)));
            let left = room.saturating_sub(extensions.len() + 20);
            let name = vec16(&vec![b'a'; *numbers.pick(&[1, 3, 100])]);
            let names = name.repeat((left / name.len()).max(1));
            extensions.extend([0, 47]);
            extensions.extend(vec16(&vec16(&names)));
            *it = message(
                HandshakeType::CERTIFICATE_REQUEST,
                &[&[0][..], &vec16(&extensions)].concat(),
            );
        }
        // A Certificate with many small ones, or with long extensions.
        11 => {
            let size = *numbers.pick(&[1, 2, 30, 400]);
            let mut list = Vec::new();
            while list.len() + size + 10 < room {
                list.extend([0, 0, 0]);
                let at = list.len() - 3;
                list[at..at + 3].copy_from_slice(&(size as u32).to_be_bytes()[1..]);
                list.extend(vec![0x30; size]);
                list.extend([0, 0]);
                if numbers.happens(2) {
                    break;
                }
            }
            let len = (list.len() as u32).to_be_bytes();
            *it = message(HandshakeType::CERTIFICATE, &[&[0][..], &len[1..], &list].concat());
        }
        15 => {
            let len = numbers.below(room.max(1));
            let signature = vec16(&vec![1; len]);
            *it = message(HandshakeType(15), &[&[8, 7][..], &signature].concat());
        }
        _ => (),
    }
}

/// NewSessionTicket of up to this length.
fn ticket(numbers: &mut Numbers, longest: usize) -> Vec<u8> {
    let nonce = vec![3; *numbers.pick(&[1, 8, 255])];
    let overhead = 4 + 4 + 4 + 1 + nonce.len() + 2 + 2;
    let len = longest.saturating_sub(overhead).max(1);
    let len = if numbers.happens(70) { len } else { 1 + numbers.below(len) };
    let mut body = vec![0, 0, 0x10, 0, 1, 2, 3, 4, nonce.len() as u8];
    body.extend(nonce);
    body.extend(vec16(&vec![5; len]));
    body.extend([0, 0]);
    message(HandshakeType::NEW_SESSION_TICKET, &body)
}

/// What a client sends that needs no keys.
#[test]
fn fuzz_no_client_makes_a_server_take_more_than_it_states() {
    let mut closest = 0.0f64;
    each_seed(40, |numbers| {
        let seed = numbers.0;
        let mut random = Random { numbers };
        let world = World::random(&mut random);
        let (client, server) = (world.client.clone(), world.server.clone());
        let (Ok(client), Ok(server)) = (client.checked(), server.checked()) else { return };
        let ends = Ends { client, server };
        let needed = world.server.heap_needed();
        for _ in 0..6 {
            let Ok(mut pair) = ends.start_with(world.to(), Role::Server, NO_LIMIT) else { return };
            let hello = pair.client.sent();
            let mut hello = tessera_harness::Hello::read(&hello[5..]);
            let known = hello
                .identities()
                .into_iter()
                .map(|(identity, _)| identity)
                .find(|_| world.knows_key());
            // Up to as long as the server reads.
            let mut left =
                world.server.limits.client_hello.saturating_sub(hello.write().len() + 40);
            match random.numbers.below(6) {
                0 => hello.set(
                    ExtensionType(0),
                    &vec16(&[&[0][..], &vec16(&vec![b'a'; left.min(60_000)])].concat()),
                ),
                1 => {
                    let one = [3, b'a', b'b', b'c'];
                    hello.set(ExtensionType(16), &vec16(&one.repeat((left / 4).clamp(1, 15_000))));
                }
                2 => {
                    let mut list = Vec::new();
                    while left > 10 {
                        let part = left.min(700);
                        list.extend([0x7a, left as u8]);
                        list.extend(vec16(&vec![1; part - 6]));
                        left -= part;
                    }
                    hello.set(ExtensionType(51), &vec16(&list));
                }
                3 => {
                    let schemes = [4, 3].repeat((left / 2).clamp(1, 30_000));
                    hello.set(ExtensionType(13), &vec16(&schemes));
                }
                4 => {
                    let size = *random.numbers.pick(&[1usize, 20, 200, 2000]);
                    // That of a known key, or what is none.
                    let identity = match known.filter(|_| random.numbers.happens(50)) {
                        Some(known) => known,
                        None => vec![9; size],
                    };
                    let size = identity.len();
                    let mut identities = Vec::new();
                    let mut binders = Vec::new();
                    while left > size + 50 {
                        left -= size + 6 + 33;
                        identities.extend(vec16(&identity));
                        identities.extend([0; 4]);
                        binders.extend([32]);
                        binders.extend([7; 32]);
                    }
                    hello.remove(ExtensionType(41));
                    hello.set(ExtensionType(45), &[1, 1]);
                    hello.set(ExtensionType(41), &[vec16(&identities), vec16(&binders)].concat());
                }
                _ => {
                    for at in 0..16 {
                        hello.set(ExtensionType(0xff80 + at), &vec![1; left / 20]);
                    }
                }
            }
            let bytes = hello.write();
            let piece = *random.numbers.pick(&[1, 50, 1000, 16_384]);
            for part in bytes.chunks(piece) {
                pair.server.input.extend_from_slice(&plain(ContentType::HANDSHAKE, part));
                pair.server.read();
            }
            let peak = heap().peak as usize;
            closest = closest.max(peak as f64 / needed as f64);
            assert!(
                peak <= needed,
                "{peak} of {needed} (seed {seed}) {:?} {:?}",
                pair.server.error,
                world.server.limits
            );
        }
    });
    println!("closest {closest}");
}
