//! A sealed ticket with its forward-secret one, where not all is as it should be (docs/0rtt-fs.md,
//! section 7.1).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{OpenTicket, PskKind, SessionState, TicketKeys, Vault, Verdict};
use tessera::wire::{CipherSuite, ContentType, ExtensionType};
use tessera_harness::{Hello, Mode, Pair, Scene, UnsealedTickets, at, plain, records};

/// Early data belongs to the suite of its session: another one of the same hash is not enough.
#[test]
fn a_session_of_another_suite_with_the_same_hash_burns_its_one_time_key() {
    let (of_session, other) =
        (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    let mut scene = Scene::new(tessera_aws_lc::provider(), Mode::FsDhe);
    scene.client.suites = vec![of_session, other];
    scene.server.suites = vec![of_session];
    let session = scene.session();
    let keys = scene.vault.len();

    scene.server.suites = vec![other];
    let mut pair = scene.start(session, at(0));
    pair.client_to_server();
    assert_eq!(scene.vault.len(), keys - 1);
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.early_data, b"");
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(pair.client.facts().suite, Some(other));
}

type Edit = fn(&mut Hello, &mut Vec<u8>);

/// What is no forward-secret identity, or comes without the list of kinds, is one that nobody knows:
/// no error, nothing is taken, and the sealed ticket resumes.
#[test]
fn a_first_identity_that_is_not_forward_secret_takes_nothing_and_the_ticket_resumes() {
    tessera_harness::about_records!();
    let edits: [(&str, Edit); 5] = [
        ("no list of kinds", |hello, _| hello.remove(ExtensionType::FORWARD_SECRET_EARLY_DATA)),
        ("another form", |_, identity| identity[4] = 3),
        ("too short", |_, identity| identity.truncate(identity.len() - 1)),
        ("too long", |_, identity| identity.push(0)),
        ("the prefix alone", |_, identity| identity.truncate(5)),
    ];
    for (name, edit) in edits {
        let (pair, taken) = with_hello(edit);
        assert_eq!(pair.to_server.error, None, "{name}");
        let facts = pair.server.facts();
        assert_eq!(facts.psk, Some(PskKind::Resumption), "{name}");
        assert_eq!(facts.early_data, EarlyDataStatus::Rejected(Verdict::Unknown), "{name}");
        assert_eq!(taken, 0, "{name}");
    }
    // As it was it counts: the key is taken, and a first binder of zeros is fatal.
    let (pair, taken) = with_hello(|_, _| ());
    assert!(pair.to_server.error.is_some());
    assert_eq!(taken, 1);
}

/// The server's end after an edited ClientHello with a binder of the sealed ticket that fits, and how
/// many keys it took.
fn with_hello(edit: Edit) -> (Pair, usize) {
    let scene = Scene::new(tessera_aws_lc::provider(), Mode::FsDhe);
    let session = scene.session().expect("a session");
    let (keys, psk) = (scene.vault.len(), session.state.psk.expose().to_vec());
    let mut pair = scene.start(Some(session), at(0));
    let sent = records(&pair.intercept_client());
    let mut hello = Hello::read(&sent[0][5..]);
    let mut identities = hello.identities();
    edit(&mut hello, &mut identities[0].0);
    hello.set_identities(&identities, scene.suite().hash.len());
    hello.bind(1, scene.suite(), &psk, "res binder");
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
    (pair, keys - scene.vault.len())
}

/// Keeps what the ticket keys were asked to open.
#[derive(Default)]
struct Opened(Mutex<Vec<Vec<u8>>>);

impl TicketKeys for Opened {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        UnsealedTickets.seal(session, unix)
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        self.0.lock().expect("no test has panicked").push(question.identity.clone());
        UnsealedTickets.open(question)
    }
}

/// A question may wait for another machine: there is one for a pair.
#[test]
fn ticket_keys_are_asked_for_the_sealed_ticket_alone() {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::FsDhe);
    let keys = Arc::new(Opened::default());
    scene.server.tickets = Some(keys.clone());
    let session = scene.session().expect("a session");
    let ticket = session.ticket.clone();
    scene.start(Some(session), at(0)).run();
    assert_eq!(*keys.0.lock().expect("no test has panicked"), [ticket]);
}
