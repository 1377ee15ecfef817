//! A sealed ticket with its forward-secret companion, where something is wrong (docs/0rtt-fs.md,
//! section 7.1).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{OpenTicket, PskKind, SessionState, TicketKeys, Vault, Verdict};
use tessera::wire::CipherSuite;
use tessera_harness::{Mode, Scene, UnsealedTickets, at};

use super::FACE;

/// Early data belongs to the suite of its session: another one of the same hash doesn't suffice.
#[test]
fn a_session_of_another_suite_with_the_same_hash_burns_its_one_time_key() {
    let (of_session, other) =
        (CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_CHACHA20_POLY1305_SHA256);
    let mut scene = Scene::over(FACE, tessera_aws_lc::provider(), Mode::FsDhe);
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

/// Records what the ticket keys were asked to open.
#[derive(Default)]
struct RecordingKeys(Mutex<Vec<Vec<u8>>>);

impl TicketKeys for RecordingKeys {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        UnsealedTickets.seal(session, unix)
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        self.0.lock().expect("no test has panicked").push(question.identity.clone());
        UnsealedTickets.open(question)
    }
}

/// A question may wait for another machine: a pair asks only one.
#[test]
fn ticket_keys_are_asked_for_the_sealed_ticket_alone() {
    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), Mode::FsDhe);
    let keys = Arc::new(RecordingKeys::default());
    scene.server.tickets = Some(keys.clone());
    let session = scene.session().expect("a session");
    let ticket = session.ticket.clone();
    scene.start(Some(session), at(0)).run();
    assert_eq!(*keys.0.lock().expect("no test has panicked"), [ticket]);
}
