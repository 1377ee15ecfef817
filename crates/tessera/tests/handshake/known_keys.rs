//! A client that knows its server's static key (docs/kem-auth.md §9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tessera::auth::{Credential, PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret};
use tessera::handshake::{ClientAuthentication, Reply, ServerQuestion};
use tessera::resume::{
    ClientSession, KnownServerKey, OpenTicket, PskKind, SessionState, SessionStore, TicketKeys,
};
use tessera::wire::{
    AlertDescription, ContentType, ExtensionType, HandshakeType, NamedGroup, SignatureScheme,
};
use tessera::{Destination, Error};
use tessera_harness::{
    Hello, Mode, Pair, ReceivedData, Scene, at, credential, kem_credential, messages, open_all,
    plain, records, to,
};
use tessera_null_provider::{NULL_KEM_KEY, NullDecapsulator, NullKemVerifier, provider};

/// The scene's server, which is known by this key.
pub(crate) fn knowing(key: &[u8], session: Option<ClientSession>) -> Destination {
    let public_key = PeerPublicKey::new(SignatureScheme::KEM_MLKEM768, key.to_vec());
    let identity = PeerIdentity { blob: b"known".to_vec(), expires_at: None };
    let known_server_key = Some(Box::new(KnownServerKey { public_key, identity }));
    Destination { known_server_key, ..to(session) }
}

pub(crate) fn scene() -> Scene {
    Scene::new(provider(), Mode::Kem)
}

pub(crate) fn run(scene: &Scene, destination: Destination) -> Pair {
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    pair
}

fn alert(received: &ReceivedData) -> Option<AlertDescription> {
    received.error.as_ref().and_then(Error::alert)
}

/// The server's protected handshake messages.
fn of_server(scene: &Scene, pair: &Pair) -> Vec<HandshakeType> {
    let opened = open_all(&pair.server_sent, &mut scene.server_sealers()).into_iter();
    let handshake = opened.filter(|(epoch, typ, _)| *epoch > 0 && *typ == ContentType::HANDSHAKE);
    let messages = handshake.flat_map(|(_, _, content)| messages(&content));
    messages.map(|message| HandshakeType(message[0])).collect()
}

/// The kinds of PSK that both ends report.
pub(crate) fn psks(pair: &Pair) -> [Option<PskKind>; 2] {
    assert!(pair.to_client.complete && pair.to_server.complete);
    [pair.client.facts().psk, pair.server.facts().psk]
}

#[test]
fn a_server_whose_key_is_known_sends_no_certificate_and_is_authenticated() {
    let scene = scene();
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert_eq!(psks(&pair), [Some(PskKind::KnownKey); 2]);
    let flight = [
        HandshakeType::ENCRYPTED_EXTENSIONS,
        HandshakeType::FINISHED,
        HandshakeType::NEW_SESSION_TICKET,
        HandshakeType::NEW_SESSION_TICKET,
    ];
    assert_eq!(of_server(&scene, &pair), flight);
    let facts = pair.client.facts();
    assert_eq!(facts.peer.as_ref().map(|peer| &peer.blob[..]), Some(&b"known"[..]));
    assert!(facts.authenticated_at.is_some() && facts.group.is_some());
    assert!(pair.server.facts().peer.is_none());
}

#[test]
fn a_session_that_began_with_a_known_key_resumes_where_the_key_is_known() {
    let scene = scene();
    let session = || run(&scene, knowing(&NULL_KEM_KEY, None)).to_client.sessions.pop();
    let pair = run(&scene, knowing(&NULL_KEM_KEY, session()));
    assert_eq!(psks(&pair), [Some(PskKind::Resumption); 2]);
    let facts = pair.client.facts();
    assert_eq!(facts.peer.as_ref().map(|peer| &peer.blob[..]), Some(&b"known"[..]));

    // The verifier never accepted this server, and another key isn't the one that did.
    let pair = run(&scene, to(session()));
    assert_eq!(psks(&pair), [None; 2]);
    let pair = run(&scene, knowing(&[1; 1184], session()));
    assert_eq!(psks(&pair), [None; 2]);
}

#[test]
fn a_key_that_the_server_does_not_have_costs_no_round_trip() {
    for credentials in [vec![kem_credential()], vec![credential()]] {
        let mut scene = scene();
        scene.server.credentials = credentials;
        let pair = run(&scene, knowing(&[1; 1184], None));
        assert_eq!(psks(&pair), [None; 2]);
        assert!(!pair.client.facts().hello_retry);
        assert!(pair.client.facts().peer.as_ref().is_some_and(|peer| peer.blob.is_empty()));
    }
}

#[test]
fn a_hello_retry_request_repeats_the_identity() {
    let mut scene = scene();
    scene.client.groups = vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768];
    scene.server.groups = vec![NamedGroup::X25519MLKEM768];
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert_eq!(psks(&pair), [Some(PskKind::KnownKey); 2]);
    assert!(pair.client.facts().hello_retry);
}

#[test]
fn a_server_that_asks_for_a_certificate_makes_a_full_handshake() {
    let mut scene = Scene::new(provider(), Mode::KemMutual);
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert_eq!(psks(&pair), [None; 2]);
    assert!(pair.server.facts().peer.is_some());
    scene.server.client_authentication = ClientAuthentication::Optional(Arc::new(NullKemVerifier));
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert!(pair.server.facts().peer.is_some());
}

#[test]
fn a_psk_of_a_known_key_is_never_used_alone() {
    let mut scene = scene();
    scene.client.policy.psk_only_without_forward_secrecy = true;
    scene.server.policy.psk_only_without_forward_secrecy = true;
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert_eq!(psks(&pair), [Some(PskKind::KnownKey); 2]);
    assert!(pair.client.facts().group.is_some());
}

#[test]
fn a_known_key_that_is_none_of_its_kem_is_refused_before_anything_is_sent() {
    let scene = scene();
    let client = scene.client.clone().checked().expect("works");
    let started = tessera::ClientConnection::start(
        client,
        knowing(&[1; 33], None),
        at(0),
        &mut tessera::Output::new(),
    );
    assert!(matches!(started.err(), Some(Error::Configuration(_))));
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

/// Sends a changed ClientHello to the server; returns the alert, and how often it decapsulated.
fn changed(edit: impl Fn(&mut Hello)) -> (Option<AlertDescription>, usize) {
    changed_at(&scene(), edit)
}

/// The same in a scene.
fn changed_at(scene: &Scene, edit: impl Fn(&mut Hello)) -> (Option<AlertDescription>, usize) {
    let counted = Arc::new(Counted::default());
    let mut scene = scene.clone();
    let key = PrivateKey::Decapsulates(counted.clone());
    scene.server.credentials = vec![Credential::new(vec![NULL_KEM_KEY.to_vec()], key)];
    let mut pair = scene.start_to(knowing(&NULL_KEM_KEY, None), at(0));
    let flight = pair.intercept_client();
    let mut hello = Hello::read(&records(&flight)[0][5..]);
    edit(&mut hello);
    for part in hello.write().chunks(16_000) {
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, part));
    }
    (alert(&pair.to_server), counted.0.load(Ordering::Relaxed))
}

#[test]
fn a_changed_encapsulation_or_hello_fails_at_the_binder() {
    let decrypt = Some(AlertDescription::DECRYPT_ERROR);
    let encapsulation = |hello: &mut Hello| {
        let mut identities = hello.identities();
        identities[0].0[20] ^= 1;
        let binder = hello.binders()[0].to_vec();
        hello.set_identities(&identities, binder.len());
        hello.binders()[0].copy_from_slice(&binder);
    };
    assert_eq!(changed(encapsulation), (decrypt, 1));
    let random = |hello: &mut Hello| hello.head[10] ^= 1;
    assert_eq!(changed(random), (decrypt, 1));
}

#[test]
fn identities_without_number_cost_one_decapsulation() {
    let many = |hello: &mut Hello| {
        let first = hello.identities().remove(0);
        hello.set_identities(&vec![first; 50], 32);
    };
    // The binder is wrong; nothing else was tried.
    assert_eq!(changed(many), (Some(AlertDescription::DECRYPT_ERROR), 1));
    let unknown = |hello: &mut Hello| {
        let mut first = hello.identities().remove(0);
        first.0[0] ^= 1;
        hello.set_identities(&vec![first; 50], 32);
    };
    assert_eq!(changed(unknown), (None, 0));
}

#[test]
fn an_encapsulation_of_another_length_is_of_no_known_key() {
    for len in [16, 17, 16 + 1087, 16 + 1089] {
        let cut = |hello: &mut Hello| {
            let mut identities = hello.identities();
            identities[0].0.resize(len, 0);
            hello.set_identities(&identities, 32);
        };
        assert_eq!(changed(cut), (None, 0), "{len}");
    }
}

#[test]
fn a_store_gives_back_sessions_that_began_with_the_known_key_alone() {
    /// Has one session.
    struct Store(std::sync::Mutex<Option<ClientSession>>);

    impl SessionStore for Store {
        fn put(&self, _: &str, session: ClientSession) {
            *self.0.lock().unwrap() = Some(session);
        }

        fn pop(&self, _: &str) -> Option<ClientSession> {
            self.0.lock().unwrap().take()
        }
    }

    let scene = scene();
    let config = scene.client.clone().checked().expect("works");
    let taken = |key: Option<&[u8]>| {
        let session = run(&scene, knowing(&NULL_KEM_KEY, None)).to_client.sessions.pop();
        let store = Store(std::sync::Mutex::new(session));
        let known = key.and_then(|key| knowing(key, None).known_server_key);
        config.take_session(&store, "server.example", known.as_deref()).is_some()
    };
    assert!(taken(Some(&NULL_KEM_KEY)));
    assert!(!taken(Some(&[1; 1184])) && !taken(None));
}

#[test]
fn identities_that_cost_nothing_hide_none_behind_them() {
    // An id of this server with an encapsulation too short; then a thousand of no one; then the right one.
    let many = |hello: &mut Hello| {
        let right = hello.identities().remove(0);
        let mut unknown = right.clone();
        unknown.0.truncate(17);
        unknown.0[0] ^= 1;
        let mut identities = vec![unknown; 1_000];
        identities.push(right);
        hello.set_identities(&identities, 32);
    };
    // It is beyond those that are read, and a full handshake follows.
    assert_eq!(changed(many), (None, 0));
}

/// The search goes on where it was once its owner has looked for a ticket.
#[test]
fn a_server_that_waits_for_its_ticket_keys_decapsulates_once() {
    let mut scene = scene();
    let session = run(&scene, to(None)).to_client.sessions.pop();
    let counted = Arc::new(Counted::default());
    let key = PrivateKey::Decapsulates(counted.clone());
    scene.server.credentials = vec![Credential::new(vec![NULL_KEM_KEY.to_vec()], key)];
    scene.server.tickets = Some(Arc::new(OpensLater));
    let mut pair = scene.start_to(knowing(&NULL_KEM_KEY, session), at(1));
    pair.client_to_server();
    let Some(ServerQuestion::OpenTicket(asked)) = pair.server_questions.pop() else {
        panic!("a ticket")
    };
    let now = pair.now;
    let answered = pair.server.answer(asked.token, None, now, &mut pair.server_output);
    assert_eq!(answered, Ok(()));
    pair.run();
    assert_eq!(psks(&pair), [Some(PskKind::KnownKey); 2]);
    assert_eq!(counted.0.load(Ordering::Relaxed), 1);
}

struct OpensLater;

impl TicketKeys for OpensLater {
    fn seal(&self, _: &SessionState, _: Duration) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Later
    }
}

/// A client that wants no key exchange gets no handshake with the static key alone.
#[test]
fn a_known_key_is_not_used_in_a_mode_without_a_key_exchange() {
    let psk_ke = |hello: &mut Hello| hello.set(ExtensionType(45), &[1, 0]);
    let mut scene = scene();
    scene.server.policy.psk_only_without_forward_secrecy = true;
    assert_eq!(changed_at(&scene, psk_ke), (None, 0));
}

/// As a server with another key: the client falls back.
#[test]
fn a_failed_decapsulation_of_a_known_key_leads_to_a_full_handshake() {
    struct Fails(AgreementError);

    impl Decapsulator for Fails {
        fn scheme(&self) -> &SignatureScheme {
            NullDecapsulator.scheme()
        }

        fn public_key(&self) -> Option<&[u8]> {
            NullDecapsulator.public_key()
        }

        fn decapsulate(&self, _: &[u8]) -> Result<SharedSecret, AgreementError> {
            Err(self.0)
        }
    }

    let mut scene = scene();
    for error in [AgreementError::InvalidShare, AgreementError::Provider] {
        let key = PrivateKey::Decapsulates(Arc::new(Fails(error)));
        let known = Credential::new(vec![NULL_KEM_KEY.to_vec()], key);
        scene.server.credentials = vec![credential(), known];
        let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
        if error == AgreementError::InvalidShare {
            assert_eq!(psks(&pair), [None; 2]);
        } else {
            assert_eq!(pair.to_server.error, Some(Error::Provider("decapsulation")));
        }
    }
}

/// The binder's hash is SHA-256 (docs/kem-auth.md §9).
#[test]
fn a_known_key_needs_a_suite_with_sha_256_on_both_sides() {
    let sha384 = vec![tessera::wire::CipherSuite::TLS_AES_256_GCM_SHA384];
    let mut scene = scene();
    scene.server.suites = sha384.clone();
    let pair = run(&scene, knowing(&NULL_KEM_KEY, None));
    assert_eq!(psks(&pair), [None; 2]);
    scene.client.suites = sha384;
    let client = scene.client.clone().checked().expect("works");
    let mut output = tessera::Output::new();
    let to = knowing(&NULL_KEM_KEY, None);
    let started = tessera::ClientConnection::start(client, to, at(0), &mut output);
    assert!(matches!(started.err(), Some(Error::Configuration(_))));
    assert!(output.as_slice().is_empty());
}
