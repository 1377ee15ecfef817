//! Forgeries are fatal: Finished, CertificateVerify, binders, and identities of forward-secret
//! tickets. Whatever an attacker changes, no key but the flight's own leaves the vault.

use tessera::Error;
use tessera::crypto::{SharedSecret, Suite};
use tessera::handshake::{EarlyDataStatus, ServerHandshake};
use tessera::resume::{ClientSession, FsClientTicket, PskKind, Vault, Verdict};
use tessera::wire::{AlertDescription, ContentType, HandshakeType};
use tessera_harness::{
    EARLY_DATA, End, Hello, Mode, Pair, ReceivedData, Scene, at, expand_label_to_hash, plain,
    records, rewrite, vec16,
};

fn scene(mode: Mode) -> Scene {
    Scene::new(tessera_null_provider::provider(), mode)
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// Delivers a client's flight to a new server.
fn fresh_server(scene: &Scene, flight: &[u8]) -> Pair {
    let mut pair = scene.start(None, at(0));
    pair.intercept_client();
    pair.deliver_to_server(flight);
    pair
}

/// A flight with another hello.
fn with_hello(flight: &[u8], hello: &Hello) -> Vec<u8> {
    let rest: Vec<u8> = records(flight).split_off(1).concat();
    [plain(ContentType::HANDSHAKE, &hello.write()), rest].concat()
}

fn hello_of(flight: &[u8]) -> Hello {
    Hello::read(&records(flight)[0][5..])
}

#[test]
fn a_forged_finished_of_the_server_is_refused() {
    for mode in [Mode::Full, Mode::PskDhe, Mode::FsDhe] {
        for index in 0..32 {
            let scene = scene(mode);
            let mut pair = scene.pair();
            pair.client_to_server();
            let flight = pair.intercept_server();
            let forged = rewrite(
                &flight,
                || scene.server_sealers(),
                |message| {
                    if message[0] == HandshakeType::FINISHED.0 {
                        message[4 + index] ^= 1 << (index % 8);
                    }
                },
            );
            pair.deliver_to_client(&forged);
            assert_eq!(alert(&pair.to_client), Some(AlertDescription::DECRYPT_ERROR));
            assert!(!pair.to_client.complete);
        }
    }
}

#[test]
fn a_forged_finished_of_the_client_is_refused() {
    for mode in [Mode::Full, Mode::Mutual, Mode::PskDhe, Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        for index in 0..32 {
            let scene = scene(mode);
            let mut pair = scene.pair();
            pair.client_to_server();
            pair.server_to_client();
            let flight = pair.intercept_client();
            let forged = rewrite(
                &flight,
                || scene.client_sealers(),
                |message| {
                    if message[0] == HandshakeType::FINISHED.0 {
                        message[4 + index] ^= 1 << (index % 8);
                    }
                },
            );
            pair.deliver_to_server(&forged);
            assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECRYPT_ERROR), "{mode:?}");
            assert!(!pair.to_server.complete);
        }
    }
}

#[test]
fn a_finished_of_another_length_is_refused() {
    for len in [0u8, 31, 33] {
        let resize = |message: &mut Vec<u8>| {
            if message[0] == HandshakeType::FINISHED.0 {
                message.resize(4 + usize::from(len), 0);
                message[3] = len;
            }
        };
        let scene = scene(Mode::Full);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), resize));
        assert_eq!(alert(&pair.to_client), Some(AlertDescription::DECODE_ERROR));

        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), resize));
        assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECODE_ERROR));
    }
}

#[test]
fn a_forged_certificate_verify_is_refused() {
    // The signature; then schemes that weren't offered, one of them PKCS #1.
    let cases: [(&[u8], AlertDescription); 3] = [
        (&[8, 7, 0, 64, 0x54], AlertDescription::DECRYPT_ERROR),
        (&[8, 4], AlertDescription::ILLEGAL_PARAMETER),
        (&[4, 1], AlertDescription::ILLEGAL_PARAMETER),
    ];
    for (start, expected) in cases {
        let edit = |message: &mut Vec<u8>| {
            if message[0] == HandshakeType::CERTIFICATE_VERIFY.0 {
                message[4..4 + start.len()].copy_from_slice(start);
            }
        };
        let scene = scene(Mode::Mutual);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
        assert_eq!(alert(&pair.to_client), Some(expected));

        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
        assert_eq!(alert(&pair.to_server), Some(expected));
    }
}

#[test]
fn a_server_that_leaves_out_its_certificate_or_signature_is_refused() {
    // A server that proves nothing: its Finished comes instead of Certificate or CertificateVerify.
    for left_out in [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_VERIFY] {
        let edit = |message: &mut Vec<u8>| {
            if message[0] == left_out.0 {
                message.clear();
            }
        };
        let scene = scene(Mode::Mutual);
        let mut pair = scene.pair();
        pair.client_to_server();
        let flight = pair.intercept_server();
        pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
        assert_eq!(alert(&pair.to_client), Some(AlertDescription::UNEXPECTED_MESSAGE));

        let mut pair = scene.pair();
        pair.client_to_server();
        pair.server_to_client();
        let flight = pair.intercept_client();
        pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
        assert_eq!(alert(&pair.to_server), Some(AlertDescription::UNEXPECTED_MESSAGE));
    }
}

#[test]
fn an_empty_certificate_of_the_server_is_refused() {
    let edit = |message: &mut Vec<u8>| {
        if message[0] == HandshakeType::CERTIFICATE.0 {
            *message = vec![11, 0, 0, 4, 0, 0, 0, 0];
        }
    };
    let scene = scene(Mode::Mutual);
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = pair.intercept_server();
    pair.deliver_to_client(&rewrite(&flight, || scene.server_sealers(), edit));
    assert_eq!(alert(&pair.to_client), Some(AlertDescription::DECODE_ERROR));

    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    pair.deliver_to_server(&rewrite(&flight, || scene.client_sealers(), edit));
    assert_eq!(alert(&pair.to_server), Some(AlertDescription::CERTIFICATE_REQUIRED));
}

#[test]
fn a_forged_binder_of_a_sealed_ticket_is_refused() {
    for mode in
        [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk]
    {
        let scene = scene(mode);
        let flight = scene.pair().intercept_client();
        let keys = scene.vault.len();
        let last = hello_of(&flight).binders().len() - 1;
        for index in 0..32 {
            let mut hello = hello_of(&flight);
            hello.binders()[last][index] ^= 1 << (index % 8);
            let pair = fresh_server(&scene, &with_hello(&flight, &hello));
            assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECRYPT_ERROR), "{mode:?}");
            assert_eq!(pair.to_server.early_data, b"");
        }
        assert_eq!(scene.vault.len(), keys, "no key was taken");
    }
}

#[test]
fn a_forged_binder_of_a_forward_secret_ticket_is_refused() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        for index in 0..32 {
            let scene = scene(mode);
            let flight = scene.pair().intercept_client();
            let keys = scene.vault.len();
            let mut hello = hello_of(&flight);
            hello.binders()[0][index] ^= 1 << (index % 8);
            let psk = scene.sessions_psk(&hello);
            hello.bind(1, scene.suite(), &psk, "res binder");
            let pair = fresh_server(&scene, &with_hello(&flight, &hello));
            assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECRYPT_ERROR));
            assert_eq!(pair.to_server.early_data, b"");
            assert_eq!(scene.vault.len(), keys - 1, "its own key is gone, and no other");
        }
    }
}

/// Tickets of the scenes are not encrypted, so they contain the PSK in plaintext.
trait SessionsPsk {
    fn sessions_psk(&self, hello: &Hello) -> Vec<u8>;
}

impl SessionsPsk for Scene {
    fn sessions_psk(&self, hello: &Hello) -> Vec<u8> {
        let ticket = hello.identities().pop().expect("an identity").0;
        let state = tessera::resume::SessionState::decode(&ticket).expect("a sealed ticket");
        state.psk.expose().to_vec()
    }
}

/// psk' of a flight as its client computes it.
fn psk_for_flight(
    suite: &Suite,
    ticket: &FsClientTicket,
    agreed: &[u8],
    identity: &[u8],
) -> Vec<u8> {
    let extracted = suite.hash.extract(ticket.secret.expose(), agreed);
    let context = suite.hash.hash(identity);
    expand_label_to_hash(suite.hash, extracted.expose(), "0rttfs", context.as_ref())
}

fn verdict(server: &End<ServerHandshake>) -> Option<Verdict> {
    match server.facts().early_data {
        EarlyDataStatus::Rejected(verdict) => Some(verdict),
        _ => None,
    }
}

#[test]
fn a_forward_secret_ticket_next_to_another_sealed_ticket_takes_nothing() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let scene = scene(mode);
        let mut sessions = scene.sessions();
        let (mut a, mut b) = (sessions.remove(0), sessions.remove(0));
        std::mem::swap(&mut a.forward_secret, &mut b.forward_secret);
        let swap_back = |a: ClientSession, b: ClientSession| {
            let forward_secret = b.forward_secret;
            ClientSession { forward_secret, ..a }
        };
        let keys = scene.vault.len();
        let exported = b.export();
        let mut pair = scene.start(Some(b), at(0));
        pair.run();
        assert_eq!(pair.to_client.error, None);
        assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
        assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
        assert_eq!(pair.to_server.early_data, b"");
        // One more ticket was issued; none was taken: A's and B's keys still work.
        assert_eq!(scene.vault.len(), keys + 1);
        let b = ClientSession::import(&exported).expect("as exported");
        let mut pair = scene.start(Some(swap_back(a, b)), at(0));
        pair.run();
        assert_eq!(pair.to_client.early_data_accepted, Some(true));
    }
}

#[test]
fn a_forward_secret_identity_counts_only_first_and_next_to_its_ticket() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let scene = scene(mode);
        let suite = scene.suite();
        let session = scene.session().expect("a session");
        let ticket = session.forward_secret.as_ref().expect("a ticket");
        let (encapsulated, agreed) = match scene.client.provider.group(ticket.kind) {
            Some(agreement) => agreement.encapsulate(&ticket.public).expect("agrees"),
            None => (Vec::new(), SharedSecret::new(Vec::new())),
        };
        let identity = [b"\xff\x5afs\x01", &ticket.id[..], &vec16(&encapsulated)].concat();
        let fs_psk = psk_for_flight(suite, ticket, agreed.expose(), &identity);
        let psk = session.state.psk.expose().to_vec();

        let flight = scene.start(Some(session), at(0)).intercept_client();
        let keys = scene.vault.len();
        let sealed = hello_of(&flight).identities().remove(1);
        let forward_secret = (identity, 0);

        // Alone: nothing vouches for it.
        let mut hello = hello_of(&flight);
        hello.set_identities(std::slice::from_ref(&forward_secret), 32);
        hello.bind(0, suite, &fs_psk, "ext binder");
        let pair = fresh_server(&scene, &with_hello(&flight, &hello));
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.server.facts().psk, None);
        assert_eq!(verdict(&pair.server), Some(Verdict::Unknown));
        assert_eq!(scene.vault.len(), keys);

        // After the sealed ticket: that is used, and the other is ignored.
        let mut hello = hello_of(&flight);
        hello.set_identities(&[sealed.clone(), forward_secret.clone()], 32);
        hello.bind(0, suite, &psk, "res binder");
        hello.bind(1, suite, &fs_psk, "ext binder");
        let pair = fresh_server(&scene, &with_hello(&flight, &hello));
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
        assert_eq!(verdict(&pair.server), Some(Verdict::Unknown));
        assert_eq!(scene.vault.len(), keys);

        // In its place: taken. The early data was for another psk', so it doesn't open.
        let mut hello = hello_of(&flight);
        hello.set_identities(&[forward_secret, sealed], 32);
        hello.bind(0, suite, &fs_psk, "ext binder");
        hello.bind(1, suite, &psk, "res binder");
        let pair = fresh_server(&scene, &with_hello(&flight, &hello));
        // With a one-time PSK there is nothing to agree on: it equals the client's own hello.
        if mode == Mode::FsPsk {
            assert_eq!(pair.to_server.error, None);
            assert_eq!(pair.to_server.early_data, EARLY_DATA);
        } else {
            assert_eq!(alert(&pair.to_server), Some(AlertDescription::BAD_RECORD_MAC));
            assert_eq!(pair.to_server.early_data, b"");
        }
        assert_eq!(scene.vault.len(), keys - 1);
    }
}

#[test]
fn any_flipped_bit_in_a_forward_secret_identity_is_noticed() {
    let scene = scene(Mode::FsDhe);
    let flight = scene.pair().intercept_client();
    let keys = scene.vault.len();
    let len = hello_of(&flight).identities()[0].0.len();
    let flip = |index: usize| {
        let mut hello = hello_of(&flight);
        let binders: Vec<Vec<u8>> = hello.binders().iter().map(|binder| binder.to_vec()).collect();
        let mut identities = hello.identities();
        identities[0].0[index] ^= 1 << (index % 8);
        hello.set_identities(&identities, 32);
        for (place, binder) in hello.binders().into_iter().zip(binders) {
            place.copy_from_slice(&binder);
        }
        hello
    };
    for index in 0..len {
        // By an attacker: the sealed ticket's binder fails.
        let mut hello = flip(index);
        let pair = fresh_server(&scene, &with_hello(&flight, &hello));
        assert_eq!(alert(&pair.to_server), Some(AlertDescription::DECRYPT_ERROR));
        assert_eq!(scene.vault.len(), keys);

        // By the client itself. Up to the id the server knows no such ticket, or none of this pair.
        let psk = scene.sessions_psk(&hello);
        hello.bind(1, scene.suite(), &psk, "res binder");
        if index < 5 + 32 {
            let pair = fresh_server(&scene, &with_hello(&flight, &hello));
            assert_eq!(pair.to_server.error, None, "byte {index}");
            assert_eq!(verdict(&pair.server), Some(Verdict::Unknown));
            assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
            assert_eq!(scene.vault.len(), keys);
        }
    }
    // After the id: the identity is no longer one (its length), or it is and nothing fits.
    for index in [5 + 32, 5 + 33, 5 + 34, 5 + 60, len - 1] {
        let scene = self::scene(Mode::FsDhe);
        let flight = scene.pair().intercept_client();
        let keys = scene.vault.len();
        let mut hello = hello_of(&flight);
        let mut identities = hello.identities();
        identities[0].0[index] ^= 1;
        let psk = scene.sessions_psk(&hello);
        hello.set_identities(&identities, 32);
        hello.bind(1, scene.suite(), &psk, "res binder");
        let pair = fresh_server(&scene, &with_hello(&flight, &hello));
        let is_length = index < 5 + 34;
        let expected = (!is_length).then_some(AlertDescription::DECRYPT_ERROR);
        assert_eq!(alert(&pair.to_server), expected, "byte {index}");
        assert_eq!(pair.to_server.early_data, b"");
        assert_eq!(scene.vault.len(), keys - usize::from(!is_length));
    }
}

#[test]
fn a_flight_for_another_server_takes_nothing_and_resumes() {
    // The same ring, another vault: nothing to take, nothing executed, the connection resumes.
    let scene = scene(Mode::FsDhe);
    let session = scene.session();
    let mut other = self::scene(Mode::FsDhe);
    other.client = scene.client.clone();
    other.client.key_log = None;
    let mut pair = other.start(session, at(0));
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
    assert_eq!(pair.to_server.early_data, b"");
}
