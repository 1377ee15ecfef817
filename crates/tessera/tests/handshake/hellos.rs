//! Hellos and EncryptedExtensions that break a rule, and the alert that RFC 8446 names for each.

use tessera::handshake::EarlyDataStatus;
use tessera::resume::Verdict;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType, NamedGroup};
use tessera::{Destination, Error, wire::CipherSuite};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, at, message, plain, records, rewrite, vec16,
};

const ILLEGAL: Option<AlertDescription> = Some(AlertDescription::ILLEGAL_PARAMETER);
const DECODE: Option<AlertDescription> = Some(AlertDescription::DECODE_ERROR);
const MISSING: Option<AlertDescription> = Some(AlertDescription::MISSING_EXTENSION);
const UNSUPPORTED: Option<AlertDescription> = Some(AlertDescription::UNSUPPORTED_EXTENSION);
const VERSION: Option<AlertDescription> = Some(AlertDescription::PROTOCOL_VERSION);
const UNEXPECTED: Option<AlertDescription> = Some(AlertDescription::UNEXPECTED_MESSAGE);

/// The random of a HelloRetryRequest.
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

fn scene(mode: Mode) -> Scene {
    let mut scene = Scene::new(tessera_null_provider::provider(), mode);
    scene.client.protocols = vec![b"h2".to_vec()];
    scene.server.protocols = scene.client.protocols.clone();
    scene
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// A ServerHello or HelloRetryRequest, valid or broken.
#[derive(Clone)]
struct Answer {
    version: [u8; 2],
    random: [u8; 32],
    session_id: Vec<u8>,
    suite: CipherSuite,
    compression: u8,
    extensions: Vec<(u16, Vec<u8>)>,
}

impl Answer {
    fn write(&self) -> Vec<u8> {
        let mut extensions = Vec::new();
        for (typ, body) in &self.extensions {
            extensions.extend_from_slice(&typ.to_be_bytes());
            extensions.extend_from_slice(&vec16(body));
        }
        let body = [
            &self.version[..],
            &self.random,
            &[self.session_id.len() as u8],
            &self.session_id,
            &self.suite.0.to_be_bytes(),
            &[self.compression],
            &vec16(&extensions),
        ]
        .concat();
        message(HandshakeType::SERVER_HELLO, &body)
    }
}

/// A waiting client, and an answer that is valid until edited.
fn waiting(mode: Mode, random: [u8; 32]) -> (Pair, Answer) {
    let mut pair = scene(mode).pair();
    let hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    let answer = Answer {
        version: [3, 3],
        random,
        session_id: hello.head[35..67].to_vec(),
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        compression: 0,
        extensions: vec![(43, vec![3, 4])],
    };
    (pair, answer)
}

fn client_says(mode: Mode, random: [u8; 32], edit: impl FnOnce(&mut Answer)) -> Pair {
    let (mut pair, mut answer) = waiting(mode, random);
    edit(&mut answer);
    pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &answer.write()));
    pair
}

const X25519_SHARE: u16 = 0x1d;

fn share(answer: &mut Answer) {
    let entry = [&X25519_SHARE.to_be_bytes()[..], &vec16(&[9; 32])].concat();
    answer.extensions.push((51, entry));
}

#[test]
fn a_server_hello_is_accepted_or_refused_as_its_fields_demand() {
    type Edit = fn(&mut Answer);
    let cases: [(Edit, Option<AlertDescription>); 16] = [
        (|_| (), None),
        (|answer| answer.version = [3, 4], ILLEGAL),
        (|answer| answer.version = [3, 2], ILLEGAL),
        (|answer| answer.session_id[0] ^= 1, ILLEGAL),
        (|answer| answer.session_id.clear(), ILLEGAL),
        (|answer| answer.suite = CipherSuite(0x1399), ILLEGAL),
        (|answer| answer.compression = 1, ILLEGAL),
        (|answer| answer.extensions.retain(|(typ, _)| *typ != 43), VERSION),
        (|answer| answer.extensions[0].1 = vec![3, 3], ILLEGAL),
        (|answer| answer.extensions[0].1 = vec![3, 4, 0], DECODE),
        (|answer| answer.extensions.push((43, vec![3, 4])), ILLEGAL),
        // In the wrong message; never offered; in a HelloRetryRequest only.
        (|answer| answer.extensions.push((16, vec![0, 3, 2, b'h', b'2'])), ILLEGAL),
        (|answer| answer.extensions.push((0x1234, vec![])), UNSUPPORTED),
        (|answer| answer.extensions.push((44, vec![0, 1, 7])), UNSUPPORTED),
        (|answer| answer.extensions.push((41, vec![0, 0])), UNSUPPORTED),
        (|answer| answer.extensions.retain(|(typ, _)| *typ != 51), MISSING),
    ];
    for (index, (edit, expected)) in cases.into_iter().enumerate() {
        let pair = client_says(Mode::Full, [5; 32], |answer| {
            share(answer);
            edit(answer);
        });
        assert_eq!(alert(&pair.to_client), expected, "case {index}");
    }
}

#[test]
fn a_hello_retry_request_is_accepted_or_refused_as_its_fields_demand() {
    let group = |group: u16| {
        move |answer: &mut Answer| {
            answer.extensions.push((51, group.to_be_bytes().to_vec()));
        }
    };
    // Shares were sent for both groups; P-521 was not offered; nothing asked for.
    assert_eq!(alert(&client_says(Mode::Full, RETRY, group(0x1d)).to_client), ILLEGAL);
    assert_eq!(alert(&client_says(Mode::Full, RETRY, group(0x11ec)).to_client), ILLEGAL);
    assert_eq!(alert(&client_says(Mode::Full, RETRY, group(0x19)).to_client), ILLEGAL);
    assert_eq!(alert(&client_says(Mode::Full, RETRY, |_| ()).to_client), ILLEGAL);
    let cookie = |cookie: &'static [u8]| {
        move |answer: &mut Answer| {
            answer.extensions.push((44, vec16(cookie)));
        }
    };
    assert_eq!(alert(&client_says(Mode::Full, RETRY, cookie(b"")).to_client), DECODE);
    // It must not mention PSKs, whether they were offered or not.
    for (mode, expected) in [(Mode::Full, UNSUPPORTED), (Mode::PskDhe, ILLEGAL)] {
        let pair = client_says(mode, RETRY, |answer| answer.extensions.push((41, vec![0, 0])));
        assert_eq!(alert(&pair.to_client), expected);
    }

    // A cookie is repeated, and nothing else changes except early data, which is gone.
    for mode in [Mode::Full, Mode::PskDhe, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let (mut pair, mut answer) = waiting(mode, RETRY);
        cookie(b"crumbs")(&mut answer);
        pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &answer.write()));
        assert_eq!(pair.to_client.error, None);
        let sent = pair.intercept_client();
        let second = records(&sent).into_iter().find(|record| record[0] == 22);
        let second = Hello::read(&second.expect("a second hello")[5..]);
        assert_eq!(second.extension(ExtensionType::COOKIE), Some(&vec16(b"crumbs")));
        assert_eq!(second.extension(ExtensionType::EARLY_DATA), None);
        // A second retry, and another suite, are refused.
        for (random, suite, expected) in [
            (RETRY, CipherSuite::TLS_AES_128_GCM_SHA256, UNEXPECTED),
            ([5; 32], CipherSuite::TLS_CHACHA20_POLY1305_SHA256, ILLEGAL),
        ] {
            if random != RETRY || mode == Mode::Full {
                let (mut pair, mut answer) = waiting(mode, RETRY);
                cookie(b"crumbs")(&mut answer);
                pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &answer.write()));
                answer.random = random;
                answer.suite = suite;
                if random != RETRY {
                    answer.extensions.truncate(1);
                    share(&mut answer);
                }
                pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &answer.write()));
                assert_eq!(alert(&pair.to_client), expected, "{mode:?}");
            }
        }
    }
}

#[test]
fn a_server_hello_cut_anywhere_is_refused() {
    let (_, mut answer) = waiting(Mode::Full, [5; 32]);
    share(&mut answer);
    let whole = answer.write();
    for len in 4..whole.len() {
        let mut pair = scene(Mode::Full).pair();
        let cut = message(HandshakeType::SERVER_HELLO, &whole[4..len]);
        pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &cut));
        // After the compression method there may be no extensions: TLS 1.2.
        let old = len == whole.len() - 2 - (2 + 2 + 2) - (4 + 36);
        assert_eq!(alert(&pair.to_client), if old { VERSION } else { DECODE }, "{len} bytes");
    }
}

#[test]
fn encrypted_extensions_are_accepted_or_refused_as_their_contents_demand() {
    let cases: [(Mode, &[u8], Option<AlertDescription>); 16] = [
        (Mode::Full, &[], None),
        (Mode::Full, &[0, 16, 0, 5, 0, 3, 2, b'h', b'2'], None),
        (Mode::Full, &[0, 16, 0, 5, 0, 3, 2, b'h', b'3'], ILLEGAL),
        (Mode::Full, &[0, 16, 0, 8, 0, 6, 2, b'h', b'2', 2, b'h', b'2'], DECODE),
        (Mode::Full, &[0, 16, 0, 2, 0, 0], DECODE),
        (Mode::Full, &[0, 0, 0, 0, 0, 0, 0, 0], ILLEGAL),
        (Mode::Full, &[0, 0, 0, 1, 0], DECODE),
        (Mode::Full, &[0x12, 0x34, 0, 0], UNSUPPORTED),
        (Mode::Full, &[0, 28, 0, 2, 4, 0], UNSUPPORTED),
        (Mode::Full, &[0, 42, 0, 0], UNSUPPORTED),
        // These belong elsewhere.
        (Mode::Full, &[0, 51, 0, 2, 0, 0x1d], ILLEGAL),
        (Mode::Full, &[0, 43, 0, 2, 3, 4], ILLEGAL),
        (Mode::PskDhe, &[0, 41, 0, 2, 0, 0], ILLEGAL),
        (Mode::PskDhe, &[0, 42, 0, 0], UNSUPPORTED),
        // Accepted, and refused with a verdict; the protocol is not that of the session.
        (Mode::FsDhe, &[0, 42, 0, 0, 0xff, 0x5a, 0, 1, 1], ILLEGAL),
        (Mode::FsDhe, &[0, 42, 0, 0], ILLEGAL),
    ];
    for (index, (mode, block, expected)) in cases.into_iter().enumerate() {
        let scene = scene(mode);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        let forged = rewrite(
            &flight,
            || scene.server_sealers(),
            |bytes| {
                if bytes[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                    *bytes = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(block));
                }
            },
        );
        pair.deliver_to_client(&forged);
        // What is read without complaint is not what Finished covers.
        let expected = expected.or(Some(AlertDescription::DECRYPT_ERROR));
        assert_eq!(alert(&pair.to_client), expected, "case {index}");
    }
}

#[test]
fn a_verdict_is_nothing_before_the_servers_finished() {
    let lost_long_ago: &[u8] = &[3, 0xff, 0xff, 0xff, 0xff];
    for verdict in [&[0_u8] as &[u8], &[1], &[2], lost_long_ago, &[4], &[255]] {
        let scene = scene(Mode::FsDhe);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        let block = [&[0xff, 0x5a, 0, verdict.len() as u8], verdict].concat();
        let forged = rewrite(
            &flight,
            || scene.server_sealers(),
            |bytes| {
                if bytes[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                    *bytes = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&block));
                }
            },
        );
        pair.deliver_to_client(&forged);
        // Without a valid Finished the verdict doesn't count.
        assert_eq!(alert(&pair.to_client), Some(AlertDescription::DECRYPT_ERROR), "{verdict:?}");
        assert_eq!(pair.to_client.verdict, None);
        let status = pair.client.facts().early_data;
        assert_eq!(status, EarlyDataStatus::Rejected(Verdict::Unknown));
    }
}

/// A server's alert after a first hello.
fn server_says(mode: Mode, edit: impl FnOnce(&mut Hello)) -> Option<AlertDescription> {
    let mut pair = scene(mode).pair();
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    edit(&mut hello);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    alert(&pair.to_server)
}

#[test]
fn a_client_hello_is_accepted_or_refused_as_its_fields_demand() {
    use ExtensionType as E;
    type Edit = fn(&mut Hello);
    let cases: [(Edit, Option<AlertDescription>); 19] = [
        (|_| (), None),
        (|hello| hello.remove(E::SUPPORTED_VERSIONS), VERSION),
        (|hello| hello.set(E::SUPPORTED_VERSIONS, &[2, 3, 3]), VERSION),
        (|hello| hello.set(E::SUPPORTED_VERSIONS, &[4, 3, 3, 3, 4]), None),
        (|hello| hello.set(E::SUPPORTED_VERSIONS, &[1, 3]), DECODE),
        (|hello| hello.extensions.clear(), VERSION),
        (|hello| hello.remove(E::SUPPORTED_GROUPS), MISSING),
        (|hello| hello.remove(E::KEY_SHARE), MISSING),
        (|hello| hello.remove(E::SIGNATURE_ALGORITHMS), MISSING),
        (|hello| hello.set(E::SUPPORTED_GROUPS, &[0, 0]), DECODE),
        (|hello| hello.set(E::SUPPORTED_GROUPS, &[0, 1, 0]), DECODE),
        // Two shares whose groups are in the other order, and one whose group is not in the list.
        (|hello| hello.set(E::SUPPORTED_GROUPS, &[0, 4, 0, 0x1d, 0x11, 0xec]), None),
        (|hello| hello.set(E::SUPPORTED_GROUPS, &[0, 2, 0, 0x1d]), ILLEGAL),
        (|hello| hello.extensions.push((43, vec![2, 3, 4])), ILLEGAL),
        (|hello| hello.set(E::COOKIE, &vec16(b"crumbs")), ILLEGAL),
        (|hello| hello.set(E::RECORD_SIZE_LIMIT, &[0, 63]), ILLEGAL),
        (|hello| hello.set(E::SERVER_NAME, &[0, 0]), DECODE),
        (|hello| hello.set(E::ALPN, &[0, 1, 0]), DECODE),
        (|hello| *hello.head.last_mut().expect("compression") = 1, ILLEGAL),
    ];
    for (index, (edit, expected)) in cases.into_iter().enumerate() {
        assert_eq!(server_says(Mode::Full, edit), expected, "case {index}");
    }
    let cases: [(Edit, Option<AlertDescription>); 5] = [
        (|hello| hello.extensions.push((0x1234, vec![])), ILLEGAL),
        (|hello| hello.remove(E::PSK_KEY_EXCHANGE_MODES), MISSING),
        (|hello| hello.set(E::PSK_KEY_EXCHANGE_MODES, &[0]), DECODE),
        (|hello| hello.set(E::PRE_SHARED_KEY, &[0, 0, 0, 0]), DECODE),
        (|hello| hello.set(E::EARLY_DATA, &[0]), DECODE),
    ];
    for (index, (edit, expected)) in cases.into_iter().enumerate() {
        assert_eq!(server_says(Mode::PskDhe, edit), expected, "case {index} with a PSK");
    }
    // One binder too many.
    let expected = server_says(Mode::PskDhe, |hello| {
        let identities = hello.identities();
        hello.set_identities(&identities, 32);
        let (_, body) = hello.extensions.last_mut().expect("pre_shared_key");
        let at = body.len() - 33 - 2;
        body[at + 1] += 33;
        body.extend([&[32][..], &[0; 32]].concat());
    });
    assert_eq!(expected, ILLEGAL);
}

#[test]
fn a_client_hello_cut_anywhere_is_refused() {
    for mode in [Mode::Full, Mode::FsDhe] {
        let scene = scene(mode);
        let flight = scene.pair().intercept_client();
        let whole = records(&flight)[0][5..].to_vec();
        for len in 4..whole.len() {
            let mut pair = scene.start(None, at(0));
            let cut = message(HandshakeType::CLIENT_HELLO, &whole[4..len]);
            pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &cut));
            assert!(matches!(alert(&pair.to_server), DECODE | VERSION), "{len} bytes");
        }
    }
}

#[test]
fn a_second_client_hello_that_differs_from_the_first_is_refused() {
    use ExtensionType as E;
    type Edit = fn(&mut Hello);
    let cases: [(Edit, Option<AlertDescription>); 12] = [
        (|_| (), None),
        (|hello| hello.head[2] ^= 1, ILLEGAL),
        (|hello| hello.head[40] ^= 1, ILLEGAL),
        (|hello| *hello.head.iter_mut().rev().nth(2).expect("a suite") ^= 1, ILLEGAL),
        (|hello| hello.remove(E::SERVER_NAME), ILLEGAL),
        (|hello| hello.set(E::ALPN, &[0, 3, 2, b'h', b'3']), ILLEGAL),
        (|hello| hello.remove(E::ALPN), ILLEGAL),
        (|hello| hello.set(E::EARLY_DATA, &[]), ILLEGAL),
        (|hello| hello.set(E::COOKIE, &vec16(b"crumbs")), ILLEGAL),
        (|hello| hello.set(E::KEY_SHARE, &[0, 0]), ILLEGAL),
        (|hello| hello.set(E::SIGNATURE_ALGORITHMS, &[0, 2, 8, 4]), ILLEGAL),
        // §4.2: in any order.
        (|hello| hello.extensions.swap(0, 1), None),
    ];
    for (index, (edit, expected)) in cases.into_iter().enumerate() {
        let mut pair = scene(Mode::Retry).pair();
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        let second = records(&flight).into_iter().find(|record| record[0] == 22);
        let mut hello = Hello::read(&second.expect("a second hello")[5..]);
        edit(&mut hello);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        assert_eq!(alert(&pair.to_server), expected, "case {index}");
    }
}

/// §4.1.2: a PSK may be dropped only if it doesn't fit the suite of the HelloRetryRequest.
#[test]
fn a_second_client_hello_that_drops_a_fitting_psk_is_refused() {
    use ExtensionType as E;
    type Edit = fn(&mut Hello);
    let cases: [(Edit, Option<AlertDescription>); 4] = [
        (|_| (), None),
        (|hello| hello.remove(E::PRE_SHARED_KEY), MISSING),
        (|hello| hello.set_identities(&[(b"another".to_vec(), 0)], 32), ILLEGAL),
        (|hello| hello.set_identities(&[], 32), DECODE),
    ];
    for (index, (edit, expected)) in cases.into_iter().enumerate() {
        let mut scene = scene(Mode::PskDhe);
        let hybrid = NamedGroup::X25519MLKEM768;
        scene.client.groups = vec![NamedGroup::X25519, hybrid];
        scene.server.groups = vec![NamedGroup::X25519];
        let session = scene.session();
        scene.server.groups = vec![hybrid];
        let mut pair = scene.start(session, at(0));
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        let second = records(&flight).into_iter().find(|record| record[0] == 22);
        let mut hello = Hello::read(&second.expect("a second hello")[5..]);
        assert_eq!(hello.identities().len(), 1);
        edit(&mut hello);
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        assert_eq!(alert(&pair.to_server), expected, "case {index}");
    }
}

/// RFC 6066 §3: a server_name is a host name, without the dot of an absolute one.
#[test]
fn a_client_sends_host_names_and_no_addresses_as_server_name() {
    for (name, sent) in [
        ("host.example.", Some("host.example")),
        ("host2", Some("host2")),
        ("10.example", Some("10.example")),
        // No top-level domain consists of digits.
        ("192.0.2.300", None),
        ("192.0.2.1", None),
        ("::1", None),
        ("fe80::a", None),
        ("", None),
    ] {
        let destination = Destination { server_name: name.into(), ..Destination::default() };
        let mut pair = scene(Mode::Full).start_to(destination, at(0));
        let hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
        let expected = sent.map(|name| {
            let (list, len) = (name.len() as u8 + 3, name.len() as u8);
            [&[0, list, 0, 0, len][..], name.as_bytes()].concat()
        });
        assert_eq!(hello.extension(ExtensionType::SERVER_NAME), expected.as_ref(), "{name}");
    }
}
