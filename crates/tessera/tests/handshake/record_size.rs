//! record_size_limit (RFC 8449): it binds a peer that knows it, and only once it does. max_fragment_length (RFC 6066)
//! stands in for it with a peer that knows no other.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::wire::{AlertDescription, ContentType, ExtensionType, HandshakeType};
use tessera::{ClientConfig, Destination, Error, ServerConfig};
use tessera_harness::{
    Hello, Mode, OneVault, Pair, Scene, UnsealedTickets, at, credential, kem_credential, message,
    open_all, plain, records, rewrite, vec16,
};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

fn configs(client_limit: Option<u16>, server_limit: Option<u16>) -> (ClientConfig, ServerConfig) {
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    client.record_size_limit = client_limit;
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    let credential = Credential::new(vec![vec![0x30; 300]], key);
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.record_size_limit = server_limit;
    server.tickets = Some(Arc::new(UnsealedTickets));
    server.policy.early_data.forward_secret =
        Some(OneTimeKeyGuard::new(Arc::new(OneVault::default())));
    (client, server)
}

/// A full handshake and one with early data, with more data than a record of 64 bytes holds.
fn connect_twice(client: ClientConfig, server: ServerConfig) {
    let mut session = None;
    for early in [0, 1_000] {
        let destination = Destination {
            server_name: "server.example".into(),
            session: session.map(Box::new),
            ..Destination::default()
        };
        let mut pair = Pair::start(&client, &server, destination, at(0)).expect("starts");
        let data = vec![b'e'; early];
        let written = pair.client.write_early_data(&data, &mut pair.client_output);
        assert_eq!(written, Ok(early));
        pair.run().client_write(&[b'c'; 1_000]);
        pair.run().server_write(&[b's'; 1_000]);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
        assert_eq!(pair.to_server.early_data, data);
        assert_eq!(pair.to_server.data, [b'c'; 1_000]);
        assert_eq!(pair.to_client.data, [b's'; 1_000]);
        session = pair.to_client.sessions.pop();
    }
}

/// The client doesn't know the server's limit.
#[test]
fn data_arrives_whole_with_a_record_size_limit_of_the_server_alone() {
    let (client, server) = configs(None, Some(64));
    connect_twice(client, server);
}

#[test]
fn data_arrives_whole_with_a_record_size_limit_of_the_client_alone() {
    let (client, server) = configs(Some(64), None);
    connect_twice(client, server);
}

/// Early data is sent before the server's limit is known.
#[test]
fn data_arrives_whole_with_record_size_limits_of_both_sides() {
    let (client, server) = configs(Some(100), Some(64));
    connect_twice(client, server);
}

/// Certificates longer than a record and than 16 KiB, in all flights and in both roles.
#[test]
fn messages_longer_than_a_record_travel_both_ways() {
    for limit in [64, 512, 2_048] {
        for mode in Mode::ALL {
            let mut scene = Scene::new(provider(), mode);
            let mut long = if mode.is_kem() { kem_credential() } else { credential() };
            long.chain.extend(vec![vec![0x30; 6_000]; 4]);
            scene.server.credentials = vec![long.clone()];
            if mode.is_mutual() {
                scene.client.credentials = vec![long];
            }
            scene.client.record_size_limit = Some(limit);
            scene.server.record_size_limit = Some(limit);
            let mut pair = scene.pair();
            pair.run().client_write(&[b'c'; 5_000]);
            pair.run().server_write(&[b's'; 5_000]);
            pair.run();
            assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
            assert_eq!((pair.to_server.data.len(), pair.to_client.data.len()), (5_000, 5_000));
            let longest = 5 + usize::from(limit) + 16;
            let is_protected = |record: &&Vec<u8>| record[0] == 23;
            for stream in [&pair.client_sent, &pair.server_sent] {
                let protected = records(stream);
                assert!(
                    protected.iter().filter(is_protected).all(|it| it.len() <= longest),
                    "{mode:?}"
                );
            }
            let certificates = match mode {
                Mode::Full | Mode::Retry | Mode::Kem => [0, 24_000],
                Mode::Mutual | Mode::KemMutual => [24_000; 2],
                _ => [0; 2],
            };
            assert!(pair.client_sent.len() > certificates[0], "{mode:?}");
            assert!(pair.server_sent.len() > certificates[1], "{mode:?}");
        }
    }
}

const RECORD_SIZE_LIMIT: ExtensionType = ExtensionType::RECORD_SIZE_LIMIT;
const MAX_FRAGMENT_LENGTH: ExtensionType = ExtensionType::MAX_FRAGMENT_LENGTH;

fn scene() -> Scene {
    Scene::new(provider(), Mode::Full)
}

fn offered(limit: Option<u16>) -> [Option<Vec<u8>>; 2] {
    let mut scene = scene();
    scene.client.record_size_limit = limit;
    let hello = Hello::read(&records(&scene.pair().intercept_client())[0][5..]);
    [RECORD_SIZE_LIMIT, MAX_FRAGMENT_LENGTH].map(|typ| hello.extension(typ).cloned())
}

#[test]
fn a_client_offers_max_fragment_length_next_to_a_limit_of_its_range() {
    for (limit, code) in [(64, None), (513, Some(1)), (2_048, Some(2)), (16_384, Some(4))] {
        let [offered_limit, fragment] = offered(Some(limit));
        assert_eq!(offered_limit.as_deref(), Some(&limit.to_be_bytes()[..]));
        assert_eq!(fragment, code.map(|code| vec![code]), "{limit}");
    }
    assert_eq!(offered(None), [None, None]);
    assert_eq!(offered(Some(16_385))[1], None);
}

/// What a server answers a client whose hello has these extensions, and its records and alert after the client's next
/// record, of `next` bytes.
fn asked_server(
    own: Option<u16>,
    asked: &[(ExtensionType, &[u8])],
    next: usize,
) -> (Option<Hello>, usize, Option<AlertDescription>) {
    let mut scene = scene();
    scene.server.record_size_limit = own;
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    scene.server.credentials = vec![Credential::new(vec![vec![0x30; 9_000]], key)];
    let mut pair = scene.pair();
    let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
    for (typ, contents) in asked {
        hello.set(*typ, contents);
    }
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    let flight = pair.intercept_server();
    let opened = open_all(&flight, &mut scene.server_sealers());
    let longest = opened.iter().filter(|(epoch, ..)| *epoch > 0).map(|(_, _, it)| it.len()).max();
    let answer = opened.iter().find(|(epoch, ..)| *epoch > 0).map(|(_, _, content)| {
        // A hello's extensions are read after the fields before them.
        let list = &content[4..][..usize::from(content[3])];
        Hello::read(&message(
            HandshakeType::CLIENT_HELLO,
            &[&[3; 2][..], &[0; 33], &[0, 2, 0, 0, 1, 0], list].concat(),
        ))
    });
    if let Some(mut sealer) = scene.client_sealers().into_iter().next() {
        // The beginning of a Certificate or Finished.
        let part = [&[20, 0, 0, 32][..], &vec![0; next - 4]].concat();
        pair.deliver_to_server(&sealer.seal(ContentType::HANDSHAKE, &part));
    }
    (answer, longest.unwrap_or(0), pair.to_server.error.as_ref().and_then(Error::alert))
}

#[test]
fn a_server_agrees_on_the_max_fragment_length_of_a_client_that_knows_no_other() {
    for (code, length) in [(1u8, 512), (2, 1_024), (3, 2_048), (4, 4_096)] {
        let asked = [(MAX_FRAGMENT_LENGTH, &[code][..])];
        let (answer, longest, alert) = asked_server(None, &asked, length + 1);
        let answer = answer.expect("an answer");
        assert_eq!(answer.extension(MAX_FRAGMENT_LENGTH), Some(&vec![code]));
        assert_eq!(answer.extension(RECORD_SIZE_LIMIT), None);
        assert_eq!((longest, alert), (length, Some(AlertDescription::RECORD_OVERFLOW)));
        // A record of that length is read, as a forged Finished.
        let (_, _, alert) = asked_server(Some(length as u16 + 1), &asked, length);
        assert_ne!(alert, Some(AlertDescription::RECORD_OVERFLOW));
        // The server accepts less than the client might then send.
        let (answer, longest, _) = asked_server(Some(length as u16), &asked, length);
        assert_eq!(answer.expect("an answer").extension(MAX_FRAGMENT_LENGTH), None);
        assert!(longest > 8_000, "{longest}");
    }
    for code in [0, 5, 255] {
        let (answer, _, alert) = asked_server(None, &[(MAX_FRAGMENT_LENGTH, &[code])], 36);
        assert!(answer.is_none());
        assert_eq!(alert, Some(AlertDescription::ILLEGAL_PARAMETER), "{code}");
    }
}

/// RFC 8449 §5: whatever its value.
#[test]
fn a_server_ignores_max_fragment_length_next_to_record_size_limit() {
    for code in [1, 4, 5] {
        let asked = [(MAX_FRAGMENT_LENGTH, &[code][..]), (RECORD_SIZE_LIMIT, &[4, 0])];
        let (answer, longest, _) = asked_server(None, &asked, 36);
        let answer = answer.expect("an answer");
        assert_eq!(answer.extension(MAX_FRAGMENT_LENGTH), None);
        assert_eq!(answer.extension(RECORD_SIZE_LIMIT), Some(&vec![0x40, 1]));
        assert_eq!(longest, 1_023);
    }
}

/// A client's alert if the server answers with these extensions, and then sends a record of `next` bytes.
fn answered_client(
    limit: Option<u16>,
    answers: &[(ExtensionType, &[u8])],
    next: usize,
) -> Option<AlertDescription> {
    let mut scene = scene();
    scene.client.record_size_limit = limit;
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let list: Vec<u8> = answers
        .iter()
        .flat_map(|(typ, it)| [&typ.0.to_be_bytes()[..], &vec16(it)].concat())
        .collect();
    let hello = &records(&flight)[..2].concat();
    let mut forged = rewrite(hello, || scene.server_sealers(), |_| ());
    let mut sealer = scene.server_sealers().remove(0);
    let answer = message(HandshakeType::ENCRYPTED_EXTENSIONS, &vec16(&list));
    forged.extend(sealer.seal(ContentType::HANDSHAKE, &answer));
    // The beginning of a long Certificate.
    let part = [&[11, 0, 0x40, 0][..], &vec![0; next - 4]].concat();
    forged.extend(sealer.seal(ContentType::HANDSHAKE, &part));
    pair.deliver_to_client(&forged);
    pair.to_client.error.as_ref().and_then(Error::alert)
}

#[test]
fn a_max_fragment_length_binds_the_server_that_answers_it() {
    let overflow = Some(AlertDescription::RECORD_OVERFLOW);
    for (limit, code, length) in [(513, 1, 512), (2_000, 2, 1_024), (16_384, 4, 4_096)] {
        let answer = [(MAX_FRAGMENT_LENGTH, &[code][..])];
        assert_eq!(answered_client(Some(limit), &answer, length), None, "{limit}");
        assert_eq!(answered_client(Some(limit), &answer, length + 1), overflow, "{limit}");
        // Without an answer nothing binds it.
        assert_eq!(answered_client(Some(limit), &[], length + 1), None, "{limit}");
    }
}

#[test]
fn wrong_answers_to_max_fragment_length_are_refused() {
    let illegal = Some(AlertDescription::ILLEGAL_PARAMETER);
    for code in [0, 1, 3, 4, 5, 255] {
        let answer = [(MAX_FRAGMENT_LENGTH, &[code][..])];
        assert_eq!(answered_client(Some(2_000), &answer, 100), illegal, "{code}");
    }
    let both = [(MAX_FRAGMENT_LENGTH, &[2][..]), (RECORD_SIZE_LIMIT, &[4, 0])];
    assert_eq!(answered_client(Some(2_000), &both, 100), illegal);
    // RFC 8446 §4.2: the client offered none.
    let unasked = Some(AlertDescription::UNSUPPORTED_EXTENSION);
    for limit in [None, Some(512), Some(16_385)] {
        let answer = [(MAX_FRAGMENT_LENGTH, &[1][..])];
        assert_eq!(answered_client(limit, &answer, 100), unasked, "{limit:?}");
    }
    for malformed in [&[][..], &[2, 2]] {
        let answer = [(MAX_FRAGMENT_LENGTH, malformed)];
        let alert = answered_client(Some(2_000), &answer, 100);
        assert_eq!(alert, Some(AlertDescription::DECODE_ERROR));
    }
}
