//! GREASE (RFC 8701): where the values are, that they are ignored, and that no peer may choose
//! one.

use tessera::Error;
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType};
use tessera_harness::{
    EARLY_DATA, Hello, Mode, ReceivedData, Scene, message, messages, open_all, records, rewrite,
    vec16,
};

const ILLEGAL: Option<AlertDescription> = Some(AlertDescription::ILLEGAL_PARAMETER);

fn scene(mode: Mode) -> Scene {
    let mut scene = Scene::new(tessera_null_provider::provider(), mode);
    scene.client.grease = true;
    scene.server.grease = true;
    scene.client.protocols = vec![b"h2".to_vec()];
    scene.server.protocols = scene.client.protocols.clone();
    scene
}

/// RFC 8701 §2.
fn is_reserved(value: u16) -> bool {
    value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff
}

fn code_points(list: &[u8]) -> Vec<u16> {
    list.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
}

fn reserved(list: &[u8]) -> Vec<u16> {
    code_points(list).into_iter().filter(|value| is_reserved(*value)).collect()
}

/// The values of one hello, in the order of the RFC's list.
#[derive(Debug, PartialEq)]
struct Values {
    suites: Vec<u16>,
    versions: Vec<u16>,
    groups: Vec<u16>,
    schemes: Vec<u16>,
    protocols: Vec<u16>,
    modes: Vec<u8>,
    extensions: Vec<(u16, Vec<u8>)>,
}

impl Values {
    fn of(hello: &Hello) -> Self {
        let body = |typ| hello.extension(typ).cloned().unwrap_or_default();
        let listed = |typ| body(typ).get(2..).map(reserved).unwrap_or_default();
        let suites = &hello.head[2 + 32 + 33..];
        let modes = body(ExtensionType::PSK_KEY_EXCHANGE_MODES);
        let mut protocols = Vec::new();
        let list = body(ExtensionType::ALPN);
        let mut rest = list.get(2..).unwrap_or_default();
        while let [len, after @ ..] = rest {
            let (protocol, after) = after.split_at(usize::from(*len));
            protocols
                .extend((protocol.len() == 2).then(|| reserved(protocol)).into_iter().flatten());
            rest = after;
        }
        Self {
            suites: reserved(&suites[2..suites.len() - 2]),
            versions: reserved(&body(ExtensionType::SUPPORTED_VERSIONS)[1..]),
            groups: listed(ExtensionType::SUPPORTED_GROUPS),
            schemes: listed(ExtensionType::SIGNATURE_ALGORITHMS),
            protocols,
            modes: modes.into_iter().skip(1).filter(|mode| *mode > 1).collect(),
            extensions: hello
                .extensions
                .iter()
                .filter(|(typ, _)| is_reserved(*typ))
                .cloned()
                .collect(),
        }
    }

    /// The number of values of each kind.
    fn counts(&self) -> [usize; 7] {
        let Self { suites, versions, groups, schemes, protocols, modes, extensions } = self;
        let lists = [suites, versions, groups, schemes, protocols].map(Vec::len);
        let [a, b, c, d, e] = lists;
        [a, b, c, d, e, modes.len(), extensions.len()]
    }
}

fn shares(hello: &Hello) -> Vec<u16> {
    let mut rest = &hello.extension(ExtensionType::KEY_SHARE).expect("shares")[2..];
    let mut groups = Vec::new();
    while !rest.is_empty() {
        groups.extend(code_points(&rest[..2]));
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        rest = &rest[4 + len..];
    }
    groups
}

/// The ClientHellos of a stream.
fn hellos(stream: &[u8]) -> Vec<Hello> {
    let plain = records(stream).into_iter().filter(|record| record[0] == ContentType::HANDSHAKE.0);
    plain.map(|record| Hello::read(&record[5..])).collect()
}

#[test]
fn handshakes_of_every_mode_complete_with_grease() {
    for mode in Mode::ALL {
        let scene = scene(mode);
        let mut pair = scene.pair();
        pair.run().client_write(b"c");
        pair.server_write(b"s");
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
        assert_eq!((&pair.to_server.data[..], &pair.to_client.data[..]), (&b"c"[..], &b"s"[..]));
        assert_eq!(pair.client.facts().protocol.as_deref(), Some(&b"h2"[..]));
        assert!(!pair.to_client.sessions.is_empty());
        if matches!(mode, Mode::Replayable | Mode::FsDhe | Mode::FsKe) {
            assert_eq!(pair.to_server.early_data, EARLY_DATA);
        }
        let values = Values::of(&hellos(&pair.client_sent)[0]);
        assert_eq!(values.counts(), [1, 1, 1, 1, 1, 1, 2], "{mode:?}: {values:?}");
    }
}

#[test]
fn a_client_sends_no_grease_by_default() {
    let mut pair = Scene::new(tessera_null_provider::provider(), Mode::Full).pair();
    let hello = &hellos(&pair.intercept_client())[0];
    assert_eq!(Values::of(hello).counts(), [0; 7]);
    assert!(!shares(hello).into_iter().any(is_reserved));
}

/// One share in addition to the real ones, of the group in the list.
#[test]
fn a_client_adds_one_grease_share_of_a_grease_group() {
    let mut pair = scene(Mode::Full).pair();
    let hello = &hellos(&pair.intercept_client())[0];
    let values = Values::of(hello);
    assert_eq!(
        shares(hello).into_iter().filter(|group| is_reserved(*group)).collect::<Vec<_>>(),
        values.groups
    );
    // Without other shares there is none.
    let mut pair = scene(Mode::PskOnly).pair();
    assert_eq!(shares(&hellos(&pair.intercept_client())[0]), []);
}

/// RFC 8701 §3.1, RFC 8446 §4.1.2: the second ClientHello repeats them, but has only the share
/// that was asked for.
#[test]
fn grease_stays_the_same_after_a_hello_retry_request() {
    let mut pair = scene(Mode::Retry).pair();
    pair.run();
    let hellos = hellos(&pair.client_sent);
    assert_eq!(hellos.len(), 2);
    assert_eq!(Values::of(&hellos[0]), Values::of(&hellos[1]));
    assert!(shares(&hellos[0]).into_iter().any(is_reserved));
    assert!(!shares(&hellos[1]).into_iter().any(is_reserved));
}

#[test]
fn grease_values_differ_between_connections() {
    let scene = scene(Mode::Full);
    let first = |_| Values::of(&hellos(&scene.pair().intercept_client())[0]);
    let seen: Vec<Values> = (0..20).map(first).collect();
    assert!(seen.iter().any(|values| values.suites != seen[0].suites));
    assert!(seen.iter().any(|values| values.extensions != seen[0].extensions));
}

/// The extensions of a message whose block begins at `start`.
fn extensions(message: &[u8], start: usize) -> Vec<(u16, Vec<u8>)> {
    let mut rest = &message[start + 2..];
    let mut extensions = Vec::new();
    while !rest.is_empty() {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        extensions.push((code_points(&rest[..2])[0], rest[4..4 + len].to_vec()));
        rest = &rest[4 + len..];
    }
    extensions
}

/// Replaces the extensions of a message.
fn set_extensions(piece: &mut Vec<u8>, start: usize, extensions: &[(u16, Vec<u8>)]) {
    let block: Vec<u8> = extensions
        .iter()
        .flat_map(|(typ, body)| [&typ.to_be_bytes()[..], &vec16(body)].concat())
        .collect();
    *piece = message(HandshakeType(piece[0]), &[&piece[4..start], &vec16(&block)].concat());
}

#[test]
fn a_server_sends_grease_only_where_it_is_configured() {
    for (grease, count) in [(true, 1), (false, 0)] {
        let mut scene = scene(Mode::Mutual);
        scene.server.grease = grease;
        let mut pair = scene.pair();
        pair.run();
        let opened = open_all(&pair.server_sent, &mut scene.server_sealers());
        let handshake = opened.into_iter().filter(|(_, typ, _)| *typ == ContentType::HANDSHAKE);
        let sent: Vec<_> = handshake.flat_map(|(_, _, content)| messages(&content)).collect();
        let of = |typ: HandshakeType| sent.iter().filter(move |message| message[0] == typ.0);

        let request = of(HandshakeType::CERTIFICATE_REQUEST).next().expect("it asks");
        let asked = extensions(request, 5);
        assert_eq!(asked.iter().filter(|(typ, _)| is_reserved(*typ)).count(), count);
        let schemes = asked.iter().find(|(typ, _)| *typ == ExtensionType::SIGNATURE_ALGORITHMS.0);
        assert_eq!(reserved(&schemes.expect("schemes").1[2..]).len(), count);

        let tickets: Vec<_> = of(HandshakeType::NEW_SESSION_TICKET).collect();
        assert_eq!(tickets.len(), 2);
        for ticket in tickets {
            let at_ticket = 4 + 8 + 1 + usize::from(ticket[12]);
            let len = usize::from(u16::from_be_bytes([ticket[at_ticket], ticket[at_ticket + 1]]));
            let listed = extensions(ticket, at_ticket + 2 + len);
            assert_eq!(listed.iter().filter(|(typ, _)| is_reserved(*typ)).count(), count);
        }
    }
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// Changes a message, with knowledge of the hello.
type Edit<'e> = &'e dyn Fn(&Values, &mut Vec<u8>);

/// The alert of a client when messages of one type are changed in its server's flight.
fn answered(mode: Mode, typ: HandshakeType, edit: Edit<'_>) -> Option<AlertDescription> {
    let scene = scene(mode);
    let mut pair = scene.pair();
    pair.client_to_server();
    let values = Values::of(&hellos(&pair.client_sent)[0]);
    let flight = pair.intercept_server();
    let rewritten = rewrite(
        &flight,
        || scene.server_sealers(),
        |piece| {
            if piece[0] == typ.0 {
                edit(&values, piece);
            }
        },
    );
    pair.deliver_to_client(&rewritten);
    alert(&pair.to_client)
}

/// The offsets of suite and extensions in a ServerHello.
const SUITE: usize = 4 + 2 + 32 + 33;
const EXTENSIONS: usize = SUITE + 3;

/// Changes the code point at the start of an extension of a ServerHello.
fn select(typ: ExtensionType, value: u16, piece: &mut Vec<u8>) {
    let mut all = extensions(piece, EXTENSIONS);
    let listed = all.iter_mut().find(|(listed, _)| *listed == typ.0).expect("it is there");
    listed.1[..2].copy_from_slice(&value.to_be_bytes());
    set_extensions(piece, EXTENSIONS, &all);
}

/// Adds an extension to an answer.
fn add(extension: &(u16, Vec<u8>), start: usize, piece: &mut Vec<u8>) {
    let mut all = extensions(piece, start);
    all.push(extension.clone());
    set_extensions(piece, start, &all);
}

/// RFC 8701 §3.1: a client fails when a server selects one of its values.
#[test]
fn a_client_refuses_grease_that_the_server_selects() {
    let in_hello: [(&str, Edit<'_>); 5] = [
        ("suite", &|values, piece| {
            piece[SUITE..SUITE + 2].copy_from_slice(&values.suites[0].to_be_bytes());
        }),
        ("version", &|values, piece| {
            select(ExtensionType::SUPPORTED_VERSIONS, values.versions[0], piece);
        }),
        ("group", &|values, piece| select(ExtensionType::KEY_SHARE, values.groups[0], piece)),
        ("first extension", &|values, piece| add(&values.extensions[0], EXTENSIONS, piece)),
        ("second extension", &|values, piece| add(&values.extensions[1], EXTENSIONS, piece)),
    ];
    for mode in [Mode::Full, Mode::Retry] {
        for (name, edit) in in_hello {
            let alert = answered(mode, HandshakeType::SERVER_HELLO, edit);
            assert_eq!(alert, ILLEGAL, "{name}, {mode:?}");
        }
    }
    let later: [(HandshakeType, Edit<'_>); 3] = [
        (HandshakeType::ENCRYPTED_EXTENSIONS, &|values, piece| {
            let chosen = [&[0, 3, 2], &values.protocols[0].to_be_bytes()[..]].concat();
            set_extensions(piece, 4, &[(ExtensionType::ALPN.0, chosen)]);
        }),
        (HandshakeType::ENCRYPTED_EXTENSIONS, &|values, piece| {
            add(&values.extensions[1], 4, piece);
        }),
        (HandshakeType::CERTIFICATE_VERIFY, &|values, piece| {
            piece[4..6].copy_from_slice(&values.schemes[0].to_be_bytes());
        }),
    ];
    for (index, (typ, edit)) in later.into_iter().enumerate() {
        assert_eq!(answered(Mode::Full, typ, edit), ILLEGAL, "{typ:?}, {index}");
    }
}

/// RFC 8701 §4.1: the same the other way round.
#[test]
fn a_server_refuses_grease_that_the_client_selects() {
    let scene = scene(Mode::Mutual);
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    let rewritten = rewrite(
        &flight,
        || scene.client_sealers(),
        |piece| {
            if piece[0] == HandshakeType::CERTIFICATE_VERIFY.0 {
                piece[4..6].copy_from_slice(&[0x1a, 0x1a]);
            }
        },
    );
    pair.deliver_to_server(&rewritten);
    assert_eq!(alert(&pair.to_server), ILLEGAL);
}
