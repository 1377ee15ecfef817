//! Excess of every kind is bounded, and ended by the right alert.

use std::sync::Arc;
use std::time::Instant;

use tessera::resume::ExternalPsk;
use tessera::wire::{
    AlertDescription, ContentType, ExtensionType, HandshakeType, NamedGroup, OpaqueExtension,
};
use tessera::{Destination, Error, Limits, Zeroizing};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, Sealer, at, message, plain, records, rewrite, to, vec16,
};

pub(crate) fn scene(mode: Mode) -> Scene {
    Scene::new(tessera_null_provider::provider(), mode)
}

pub(crate) fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// A connected pair, and the sealers of the client's and the server's next records.
pub(crate) fn connected(mode: Mode) -> (Pair, Sealer, Sealer) {
    let scene = scene(mode);
    let mut pair = scene.pair();
    pair.run();
    let client = scene.client_sealers().pop().expect("the client's keys");
    let mut server = scene.server_sealers().pop().expect("the server's keys");
    // The tickets shared one record.
    server.number = 1;
    (pair, client, server)
}

/// A server's alert after a hello that `edit` changed.
fn after_hello(edit: impl FnOnce(&mut Hello)) -> Option<AlertDescription> {
    let scene = scene(Mode::Full);
    let mut pair = scene.pair();
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    edit(&mut hello);
    let bytes = hello.write();
    let began = Instant::now();
    for fragment in bytes.chunks(1 << 14) {
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, fragment));
    }
    assert!(began.elapsed().as_secs() < 2, "no more than linear time");
    alert(&pair.to_server)
}

#[test]
fn lists_in_a_client_hello_are_bounded() {
    let grease = |count: u16| (0..count).map(|typ| (0x4000 + typ, Vec::new()));
    // RFC 8446 §4.1.2: unknown extensions are ignored, however many.
    assert_eq!(after_hello(|hello| hello.extensions.extend(grease(16_000))), None);
    let twice = |hello: &mut Hello| hello.extensions.extend(grease(5_000).chain(grease(1)));
    assert_eq!(after_hello(twice), Some(AlertDescription::ILLEGAL_PARAMETER));

    let groups = |hello: &mut Hello, count: u16| {
        let groups: Vec<u8> = (0..count).flat_map(|n| (0x2000 + n).to_be_bytes()).collect();
        let known = hello.extension(ExtensionType::SUPPORTED_GROUPS).expect("groups")[2..].to_vec();
        hello.set(ExtensionType::SUPPORTED_GROUPS, &vec16(&[groups, known].concat()));
    };
    let shares = |hello: &mut Hello, count: u16| {
        let shares: Vec<u8> = (0..count)
            .flat_map(|n| [&(0x2000 + n).to_be_bytes()[..], &[0, 1, 7]].concat())
            .collect();
        let known = hello.extension(ExtensionType::KEY_SHARE).expect("a share")[2..].to_vec();
        hello.set(ExtensionType::KEY_SHARE, &vec16(&[shares, known].concat()));
    };
    assert_eq!(
        after_hello(|hello| {
            groups(hello, 4_000);
            shares(hello, 4_000);
        }),
        None
    );
    assert_eq!(
        after_hello(|hello| shares(hello, 4_000)),
        Some(AlertDescription::ILLEGAL_PARAMETER)
    );
    let unsupported = Some(AlertDescription::ILLEGAL_PARAMETER);
    assert_eq!(after_hello(|hello| shares(hello, 10_000)), unsupported);

    let identities = |hello: &mut Hello, count: u32| {
        let identities: Vec<_> = (0..count).map(|n| (n.to_be_bytes().to_vec(), 0)).collect();
        hello.set_identities(&identities, 32);
    };
    // Unknown identities: a full handshake.
    assert_eq!(after_hello(|hello| identities(hello, 600)), None);
    assert_eq!(after_hello(|hello| identities(hello, 1_400)), None);
}

#[test]
fn a_server_opens_only_the_first_few_identities() {
    let scene = scene(Mode::PskDhe);
    let session = scene.session().expect("a session");
    let psk = session.state.psk.expose().to_vec();
    let flight = scene.start(Some(session), at(0)).intercept_client();
    let hello = Hello::read(&records(&flight)[0][5..]);
    let known = hello.identities().remove(0);
    for (before, resumed) in [(7, true), (8, false), (200, false)] {
        let mut hello = hello.clone();
        let mut identities = vec![(b"unknown".to_vec(), 0); before];
        identities.push(known.clone());
        hello.set_identities(&identities, 32);
        hello.bind(before, scene.suite(), &psk, "res binder");
        let mut pair = scene.start(None, at(0));
        pair.intercept_client();
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.server.facts().psk.is_some(), resumed);
    }
}

#[test]
fn messages_longer_than_a_server_reads_are_refused_by_their_length() {
    // By the length alone, before anything of it is kept.
    for (announced, expected) in [
        (80 * 1024 - 4, None),
        (80 * 1024, Some(AlertDescription::DECODE_ERROR)),
        (96 * 1024, Some(AlertDescription::DECODE_ERROR)),
        (0xff_ffff, Some(AlertDescription::DECODE_ERROR)),
    ] {
        let mut pair = scene(Mode::Full).pair();
        let [_, a, b, c] = u32::to_be_bytes(announced);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &[1, a, b, c]));
        assert_eq!(alert(&pair.to_server), expected);
    }
    // A message that may be that long is read to its end.
    for (announced, expected) in
        [(100 * 1024, None), (128 * 1024, Some(AlertDescription::DECODE_ERROR))]
    {
        let scene = scene(Mode::Full);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = records(&pair.intercept_server());
        pair.deliver_to_client(&flight[..2].concat());
        let mut sealer = scene.server_sealers().remove(0);
        let [_, a, b, c] = u32::to_be_bytes(announced);
        let header = [HandshakeType::ENCRYPTED_EXTENSIONS.0, a, b, c];
        pair.deliver_to_client(&sealer.seal(ContentType::HANDSHAKE, &header));
        assert_eq!(alert(&pair.to_client), expected);
    }
}

/// A device reads no more than it has room for: each limit is the longest message in its place, header included.
#[test]
fn messages_above_a_sides_own_limits_are_refused_by_their_length() {
    const REFUSED: Option<AlertDescription> = Some(AlertDescription::DECODE_ERROR);
    let header = |typ: HandshakeType, len: u32| {
        let [_, a, b, c] = (len - 4).to_be_bytes();
        [typ.0, a, b, c]
    };
    let limits = Limits {
        handshake_message: 1_024,
        certificate_message: 4_000,
        client_hello: 900,
        ..Limits::default()
    };
    let mut scene = scene(Mode::Mutual);
    (scene.client.limits, scene.server.limits) = (limits, limits);
    // Hybrid shares are longer.
    scene.client.groups = vec![NamedGroup::X25519];

    for (len, expected) in [(900, None), (901, REFUSED)] {
        let mut pair = scene.pair();
        let hello = header(HandshakeType::CLIENT_HELLO, len);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello));
        assert_eq!(alert(&pair.to_server), expected, "{len}");
    }
    for (len, expected) in [(1_024, None), (1_025, REFUSED)] {
        let mut pair = scene.pair();
        let hello = header(HandshakeType::SERVER_HELLO, len);
        pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &hello));
        assert_eq!(alert(&pair.to_client), expected, "{len}");
    }
    // What follows the first `before` messages of the server's flight.
    let in_flight = |before: usize, typ: HandshakeType, len: u32| {
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        let mut sealer = scene.server_sealers().remove(0);
        let mut seen = 0;
        let mut forged = records(&flight)[..2].concat();
        rewrite(
            &flight,
            || scene.server_sealers(),
            |message| {
                seen += 1;
                if (2..=before).contains(&seen) {
                    forged.extend(sealer.seal(ContentType::HANDSHAKE, message));
                }
            },
        );
        forged.extend(sealer.seal(ContentType::HANDSHAKE, &header(typ, len)));
        pair.deliver_to_client(&forged);
        alert(&pair.to_client)
    };
    for (before, typ, limit) in [
        (1, HandshakeType::ENCRYPTED_EXTENSIONS, 1_024),
        (2, HandshakeType::CERTIFICATE_REQUEST, 4_000),
        (3, HandshakeType::CERTIFICATE, 4_000),
        (4, HandshakeType::CERTIFICATE_VERIFY, 1_024),
    ] {
        assert_eq!(in_flight(before, typ, limit), None, "{typ:?}");
        assert_eq!(in_flight(before, typ, limit + 1), REFUSED, "{typ:?}");
    }
    // A client's Certificate, and a ticket.
    for (len, expected) in [(4_000, None), (4_001, REFUSED)] {
        let mut pair = scene.pair();
        pair.client_to_server();
        let mut sealer = scene.client_sealers().remove(0);
        let certificate = header(HandshakeType::CERTIFICATE, len);
        pair.deliver_to_server(&sealer.seal(ContentType::HANDSHAKE, &certificate));
        assert_eq!(alert(&pair.to_server), expected, "{len}");
    }
    for (len, expected) in [(1_024, None), (1_025, REFUSED)] {
        let mut pair = scene.pair();
        pair.run();
        let mut sealer = scene.server_sealers().remove(1);
        sealer.number = 1;
        let ticket = header(HandshakeType::NEW_SESSION_TICKET, len);
        pair.deliver_to_client(&sealer.seal(ContentType::HANDSHAKE, &ticket));
        assert_eq!(alert(&pair.to_client), expected, "{len}");
    }
}

#[test]
fn a_client_keeps_as_many_tickets_at_a_time_as_its_limits_allow() {
    for (limit, kept) in [(0, 0), (1, 1), (3, 3), (32, 5)] {
        let mut scene = scene(Mode::Full);
        scene.client.limits.tickets = limit;
        scene.server.tickets = None;
        let mut pair = scene.pair();
        pair.run();
        let mut sealer = scene.server_sealers().remove(1);
        let body = [&[0, 0, 14, 16, 1, 2, 3, 4, 1, 0, 0, 4][..], &[9; 4], &[0, 0]].concat();
        let ticket = message(HandshakeType::NEW_SESSION_TICKET, &body);
        pair.deliver_to_client(&sealer.seal(ContentType::HANDSHAKE, &ticket.repeat(5)));
        assert_eq!((pair.to_client.sessions.len(), &pair.to_client.error), (kept, &None));
    }
}

/// RFC 8446 §6.2: a wrong length is decode_error, however wrong it is.
#[test]
fn a_finished_of_any_wrong_length_is_a_decode_error() {
    for len in [0, 31, 33, 128 * 1024, 0xff_ffff] {
        let scene = scene(Mode::Full);
        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        pair.intercept_client();
        let mut sealer = scene.client_sealers().remove(0);
        let [_, a, b, c] = u32::to_be_bytes(len);
        let start = [&[HandshakeType::FINISHED.0, a, b, c][..], &vec![0; len.min(33) as usize]];
        pair.deliver_to_server(&sealer.seal(ContentType::HANDSHAKE, &start.concat()));
        assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECODE_ERROR), "{len} bytes");
    }
}

#[test]
fn the_chain_and_the_extensions_of_a_server_are_bounded() {
    let certificates = |count: usize| {
        let list = [0, 0, 4, 0x30, 1, 1, 1, 0, 0].repeat(count);
        let len = (list.len() as u32).to_be_bytes();
        message(HandshakeType::CERTIFICATE, &[&[0], &len[1..], &list].concat())
    };
    let extensions: Vec<u8> =
        (0..16_000u16).flat_map(|n| [&n.to_be_bytes()[..], &[0, 0]].concat()).collect();
    let many = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&extensions));
    // The signature is wrong, but everything is read: a chain of 100 is no error in itself.
    let cases = [
        (certificates(100), Some(AlertDescription::DECRYPT_ERROR)),
        (certificates(101), Some(AlertDescription::BAD_CERTIFICATE)),
        (certificates(10_000), Some(AlertDescription::BAD_CERTIFICATE)),
        (many, Some(AlertDescription::UNSUPPORTED_EXTENSION)),
    ];
    for (replacement, expected) in cases {
        let scene = scene(Mode::Full);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        let mut sealer_of = scene.server_sealers().remove(0);
        let mut forged = Vec::new();
        // Too long for one record, so it is cut.
        let plain_part = records(&flight);
        forged.extend(plain_part[..2].concat());
        rewrite(
            &flight,
            || scene.server_sealers(),
            |message| {
                let bytes = if message[0] == replacement[0] { &replacement } else { &*message };
                if message[0] != HandshakeType::SERVER_HELLO.0 {
                    for fragment in bytes.chunks(1 << 14) {
                        forged.extend(sealer_of.seal(ContentType::HANDSHAKE, fragment));
                    }
                }
            },
        );
        pair.deliver_to_client(&forged);
        assert_eq!(alert(&pair.to_client), expected);
    }
}

#[test]
fn records_that_are_too_long_are_refused_with_record_overflow() {
    let overflow = Some(AlertDescription::RECORD_OVERFLOW);
    // In plaintext: 2^14 bytes, by the header.
    for typ in [ContentType::HANDSHAKE, ContentType::ALERT] {
        let mut pair = scene(Mode::Full).pair();
        pair.deliver_to_server(&[typ.0, 3, 1, 0x40, 1]);
        assert_eq!(alert(&pair.to_server), overflow);
    }
    let mut pair = scene(Mode::Full).pair();
    pair.client_to_server();
    pair.deliver_to_client(&[22, 3, 3, 0x40, 1]);
    assert_eq!(alert(&pair.to_client), overflow);
    // Protected: 2^14 + 256 outside, 2^14 + 1 inside.
    for is_client in [false, true] {
        let deliver = |pair: &mut Pair, bytes: &[u8]| match is_client {
            true => pair.deliver_to_client(bytes),
            false => pair.deliver_to_server(bytes),
        };
        let (mut pair, mut client, mut server) = connected(Mode::Full);
        let sealer = if is_client { &mut server } else { &mut client };
        deliver(&mut pair, &sealer.seal(ContentType::APPLICATION_DATA, &vec![7; 1 << 14]));
        deliver(&mut pair, &sealer.seal(ContentType::APPLICATION_DATA, &vec![7; (1 << 14) + 1]));
        let received = if is_client { &pair.to_client } else { &pair.to_server };
        assert_eq!(received.data.len(), 1 << 14);
        assert_eq!(alert(received), overflow);
        let (mut pair, _, _) = connected(Mode::Full);
        deliver(&mut pair, &[23, 3, 3, 0x41, 1]);
        let received = if is_client { &pair.to_client } else { &pair.to_server };
        assert_eq!(alert(received), overflow);
    }
}

#[test]
fn records_above_the_negotiated_limit_are_refused() {
    let mut scene = scene(Mode::Full);
    scene.server.record_size_limit = Some(64);
    scene.client.record_size_limit = Some(100);
    for is_client in [false, true] {
        let mut pair = scene.pair();
        pair.run();
        let sealer = if is_client { scene.server_sealers() } else { scene.client_sealers() }.pop();
        let mut sealer = sealer.expect("keys");
        let limit = if is_client { 100 } else { 64 };
        if is_client {
            sealer.number = records(&pair.server_sent)
                .iter()
                .filter(|record| sealer.open(record).is_some())
                .count() as u64;
        }
        let mut deliver = |bytes: &[u8]| match is_client {
            true => pair.deliver_to_client(bytes),
            false => pair.deliver_to_server(bytes),
        };
        deliver(&sealer.seal(ContentType::APPLICATION_DATA, &vec![7; limit - 1]));
        deliver(&sealer.seal(ContentType::APPLICATION_DATA, &vec![7; limit]));
        let received = if is_client { &pair.to_client } else { &pair.to_server };
        assert_eq!(received.data.len(), limit - 1);
        assert_eq!(alert(received), Some(AlertDescription::RECORD_OVERFLOW));
    }
}

/// A client's own lists, each within its bound, that don't fit a ClientHello together.
#[test]
fn a_client_whose_lists_do_not_fit_one_hello_does_not_start() {
    let scene = scene(Mode::Full);
    let suite = scene.client.suites[0];
    let psks = |count: u32, len: usize| {
        let psk = |number: u32| {
            let identity = [&number.to_be_bytes()[..], &vec![7; len - 4]].concat();
            ExternalPsk::new(identity, Zeroizing::new(vec![1; 32]), suite)
        };
        (0..count).map(psk).collect::<Vec<_>>()
    };
    let extension = OpaqueExtension { typ: ExtensionType(57), contents: vec![7; 16_384] };
    let start = |external_psks, extensions| {
        let destination = Destination { external_psks, extensions, ..to(None) };
        let (client, server) = (Arc::new(scene.client.clone()), Arc::new(scene.server.clone()));
        Pair::start(&client, &server, destination, at(0))
    };
    // An identity of four bytes takes 43, with its binder and three lengths.
    for (external_psks, extensions) in [
        (psks(1230, 4), vec![]),
        (psks(2, 8192), vec![extension.clone()]),
        (psks(850, 4), vec![extension.clone()]),
    ] {
        let mut pair = start(external_psks, extensions).expect("has room");
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert!(pair.to_client.complete && pair.to_server.complete);
    }
    for (external_psks, extensions) in
        [(psks(1240, 4), vec![]), (psks(4000, 4), vec![]), (psks(860, 4), vec![extension.clone()])]
    {
        let refused = start(external_psks, extensions).map(drop);
        assert!(matches!(refused, Err(Error::Configuration(reason)) if reason.contains("room")));
    }
}
