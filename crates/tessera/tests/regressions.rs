//! What once was wrong, each with the test that would have shown it.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::{Signer, SigningError, Suite};
use tessera::handshake::{EarlyDataStatus, Reply};
use tessera::resume::{
    ClientSession, Continuation, ExternalPsk, OneTimeKeyGuard, OpenTicket, PskKind, SessionState,
    TicketKeys,
};
use tessera::wire::{
    AlertDescription, CipherSuite, ContentType, HandshakeType, NamedGroup, SignatureScheme,
};
use tessera::{ClientConfig, ClientConnection, Destination, Error, Output, ServerConfig};
use tessera_harness::{Mode, OneVault, Pair, Scene, UnsealedTickets, at, message, vec16};
use tessera_null_provider::{NullSigner, NullVerifier, provider};

fn configurations() -> (ClientConfig, ServerConfig) {
    let credential =
        Credential::new(vec![vec![0x30; 300]], PrivateKey::Signs(Arc::new(NullSigner)));
    let mut client = ClientConfig::new(provider(), Arc::new(NullVerifier));
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let mut server = ServerConfig::new(provider(), vec![credential]);
    server.tickets = Some(Arc::new(UnsealedTickets));
    server.policy.early_data.forward_secret =
        Some(OneTimeKeyGuard::new(Arc::new(OneVault::default())));
    (client, server)
}

fn to(session: Option<ClientSession>) -> Destination {
    Destination { server_name: "server.example".into(), session, ..Destination::default() }
}

fn start(client: &ClientConfig, server: &ServerConfig, session: Option<ClientSession>) -> Pair {
    Pair::start(client, server, to(session), at(0)).expect("starts")
}

fn session(client: &ClientConfig, server: &ServerConfig) -> Option<ClientSession> {
    start(client, server, None).run().to_client.sessions.pop()
}

/// Policies that look compatible: what may go out under the sealed ticket alone may not under the
/// forward-secret one, and the modes hold for both.
#[test]
fn psk_ke_for_the_fallback_is_not_psk_ke_for_the_flight() {
    let (mut client, mut server) = configurations();
    if let Some(guard) = &mut server.policy.early_data.forward_secret {
        guard.continuation = Continuation::PskKe;
    }
    let session = session(&client, &server);
    client.policy.psk_only_without_forward_secrecy = true;
    let mut pair = start(&client, &server, session);
    pair.client.write_early_data(b"early", &mut pair.client_output).expect("early data");
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_server.early_data, b"early");
    assert_eq!(pair.client.facts().early_data, EarlyDataStatus::Accepted);
    assert_eq!(pair.client.facts().psk, Some(PskKind::ForwardSecret));
}

/// Anyone can write a plaintext close_notify: it ends nothing without an error.
#[test]
fn a_close_in_plaintext_is_no_end() {
    let (client, server) = configurations();
    let session = session(&client, &server);
    let mut pair = start(&client, &server, session);
    pair.client_to_server();
    pair.deliver_to_server(&[21, 3, 3, 0, 2, 1, 0]);
    assert!(!pair.to_server.closed);
    let alert = pair.to_server.error.and_then(|error| error.alert());
    assert_eq!(alert, Some(AlertDescription::UNEXPECTED_MESSAGE));
    assert!(pair.server.end_of_stream().is_err());
}

/// An orderly end in the middle of a handshake is none.
#[test]
fn a_close_during_the_handshake_is_an_error() {
    let (client, server) = configurations();
    let mut pair = start(&client, &server, None);
    // Before the ClientHello: nothing is protected yet.
    pair.deliver_to_server(&[21, 3, 3, 0, 2, 1, 0]);
    let closed = Some(Error::AlertReceived(AlertDescription::CLOSE_NOTIFY));
    assert_eq!(pair.to_server.error, closed);
    assert!(!pair.to_server.closed);
}

#[test]
fn names_that_no_hello_has_room_for() {
    let (client, _) = configurations();
    let destination = Destination { server_name: "a".repeat(70_000), ..to(None) };
    let started = ClientConnection::start(
        client.checked().expect("works"),
        destination,
        at(0),
        &mut Output::new(),
    );
    assert!(matches!(started.err(), Some(Error::Configuration(_))));
}

#[test]
fn a_handshake_may_take_for_ever() {
    let (mut client, _) = configurations();
    client.handshake_timeout = Duration::MAX;
    let client = client.checked().expect("works");
    let connection = ClientConnection::start(client, to(None), at(1), &mut Output::new());
    assert_eq!(connection.expect("starts").deadline(), Some(Duration::MAX));
}

#[test]
fn a_default_output_takes_something() {
    assert!(!Output::default().is_full());
}

/// A one-time key is kept no longer than the ticket that vouches for it.
#[test]
fn a_one_time_key_dies_with_its_ticket() {
    let (client, mut server) = configurations();
    server.ticket_lifetime = Duration::from_secs(10);
    let vault = Arc::new(tessera_vault::MemoryVault::new(10));
    server.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));
    let mut pair = start(&client, &server, None);
    pair.run();
    assert_eq!(pair.to_client.sessions.len(), 2);
    let later = at(11).unix.expect("a clock");
    assert_eq!(vault.purge(later), 2);
}

/// A ticket that began with an external PSK says so, and falls with it.
#[test]
fn a_withdrawn_psk_withdraws_its_tickets() {
    let (client, mut server) = configurations();
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let alice = ExternalPsk::new(b"alice".to_vec(), vec![7; 32].into(), suite);
    server.external_psks = vec![alice.clone()];
    let destination = || Destination { external_psks: vec![alice.clone()], ..to(None) };
    let connect = |server: &ServerConfig, destination| {
        let mut pair = Pair::start(&client, server, destination, at(0)).expect("starts");
        pair.run();
        assert!(pair.to_server.complete);
        pair
    };
    let mut first = connect(&server, destination());
    let sessions = &mut first.to_client.sessions;
    let known = connect(&server, to(sessions.pop()));
    assert_eq!(known.server.facts().psk, Some(PskKind::ForwardSecret));
    assert_eq!(known.server.facts().external_psk.as_deref(), Some(b"alice".as_slice()));
    server.external_psks.clear();
    let withdrawn = connect(&server, to(sessions.pop()));
    assert_eq!(withdrawn.server.facts().psk, None);
}

/// More tickets in a row than a client takes for sane are not asked for.
#[test]
fn as_many_tickets_as_there_may_be() {
    let (mut client, mut server) = configurations();
    client.policy.tickets.new_session_count = 200;
    server.policy.tickets.new_session_count = 200;
    let mut pair = start(&client, &server, None);
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_client.sessions.len(), 32);
}

/// A client knows when a one-time key is gone, and spends no early data on it.
#[test]
fn no_early_data_for_a_key_that_is_gone() {
    let (client, mut server) = configurations();
    if let Some(guard) = &mut server.policy.early_data.forward_secret {
        guard.lifetime = Duration::from_secs(60);
    }
    let connect = |session, seconds| {
        let mut pair = Pair::start(&client, &server, to(session), at(seconds)).expect("starts");
        let room = pair.client.early_data_room();
        pair.run();
        (room, pair)
    };
    let (_, mut first) = connect(None, 0);
    let sessions = &mut first.to_client.sessions;
    assert!(connect(sessions.pop(), 59).0 > 0);
    let (room, late) = connect(sessions.pop(), 60);
    assert_eq!(room, 0);
    assert_eq!(late.client.facts().psk, Some(PskKind::Resumption));
}

/// Keys change by themselves before a suite's limit: data goes on, both ways, and nobody asks twice.
#[test]
fn keys_change_before_they_are_used_up() {
    let (mut client, mut server) = configurations();
    let suite = provider().suites[0];
    let limited = Suite::new(suite.id, suite.hash, suite.aead).with_confidentiality_limit(100);
    let limited: &'static Suite = Box::leak(Box::new(limited));
    let suites: &'static [&'static Suite] = Box::leak(Box::new([limited]));
    for provider in [&mut client.provider, &mut server.provider] {
        provider.suites = suites;
    }
    let mut pair = start(&client, &server, None);
    pair.run();
    // One record each: far more than one key may seal. Without new keys a write takes nothing.
    for _ in 0..500 {
        pair.client_write(b"ping");
        pair.run();
        pair.server_write(b"pong");
        pair.run();
    }
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert_eq!((pair.to_server.data.len(), pair.to_client.data.len()), (2000, 2000));
}

/// A server for PSKs alone has no certificate; to a stranger that is no matter of certificate types.
#[test]
fn no_certificate_is_no_wrong_type_of_certificate() {
    let (client, mut server) = configurations();
    server.credentials = Vec::new();
    let mut pair = start(&client, &server, None);
    pair.run();
    let expected = Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
    assert_eq!(pair.to_client.error, Some(expected));
}

/// A stream that ends without close_notify ends the connection like any other error: there is no room
/// for early data any more, and nothing is sent.
#[test]
fn nothing_is_sent_after_the_end_of_the_stream() {
    let (client, server) = configurations();
    let session = session(&client, &server);
    let mut pair = start(&client, &server, session);
    assert!(pair.client.early_data_room() > 0);
    assert_eq!(pair.client.end_of_stream(), Err(Error::Truncated));
    assert_eq!(pair.client.early_data_room(), 0);
    let written = pair.client.write_early_data(b"early", &mut pair.client_output);
    assert_eq!(written, Err(Error::Truncated));
    pair.intercept_client();
    pair.client.close(&mut pair.client_output);
    assert!(pair.client_output.is_empty());
}

/// RFC 8446 §6.1: nothing follows close_notify, not even a change_cipher_spec.
#[test]
fn a_server_that_closes_before_the_hello_sends_nothing_more() {
    let (client, server) = configurations();
    let mut pair = start(&client, &server, None);
    pair.server.close(&mut pair.server_output);
    pair.client_to_server();
    assert_eq!(pair.intercept_server(), [21, 3, 3, 0, 2, 1, 0]);
}

/// A server may name a public key of any length. One that is longer than a session's file has room for
/// is of no kind that the client knows.
#[test]
fn a_one_time_public_key_of_another_length_is_passed_over() {
    for len in [0, 1215, 1217, 65_400] {
        let mut scene = Scene::new(provider(), Mode::FsDhe);
        scene.server.tickets = None;
        let mut pair = scene.start(None, at(0));
        pair.run();
        let public = vec16(&vec![7; len]);
        let kind = NamedGroup::X25519MLKEM768.0.to_be_bytes();
        let ticket = [&kind[..], &[1; 32], &public, &[0, 0, 14, 16], &[0, 0, 64, 0]].concat();
        let extensions = [b"\xff\x5a", &vec16(&ticket)[..]].concat();
        let head = [0, 0, 14, 16, 0, 0, 0, 0, 1, 0];
        let body = [&head[..], &vec16(b"sealed"), &vec16(&extensions)].concat();
        let mut sealer = scene.server_sealers().pop().expect("the secret of the server's data");
        for part in message(HandshakeType::NEW_SESSION_TICKET, &body).chunks(16_384) {
            pair.deliver_to_client(&sealer.seal(ContentType::HANDSHAKE, part));
        }
        assert_eq!(pair.to_client.error, None, "{len}");
        let session = pair.to_client.sessions.pop().expect("the sealed ticket is good");
        assert!(session.forward_secret.is_none() && session.state.companion.is_none());
        let imported = ClientSession::import(&session.export()).expect("imports");
        assert_eq!(imported.ticket, b"sealed");
    }
}

/// What an owner's key or store makes may be of any length; not all of it fits a message.
#[test]
fn signatures_and_tickets_that_fit_no_message_are_not_sent() {
    struct Makes(usize);
    impl Signer for Makes {
        fn schemes(&self) -> &[SignatureScheme] {
            &[SignatureScheme::ED25519]
        }
        fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
            Ok(vec![1; self.0])
        }
    }
    impl TicketKeys for Makes {
        fn seal(&self, _: &SessionState, _: Duration) -> Option<Vec<u8>> {
            Some(vec![1; self.0])
        }
        fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
            Reply::Now(None)
        }
    }
    let (client, mut server) = configurations();
    for (len, tickets) in [(0, 0), (65_535, 2), (65_536, 0), (1 << 24, 0)] {
        server.tickets = Some(Arc::new(Makes(len)));
        let mut pair = start(&client, &server, None);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{len}");
        assert_eq!(pair.to_client.sessions.len(), tickets, "{len}");
    }
    server.credentials[0].key = PrivateKey::Signs(Arc::new(Makes(65_536)));
    let mut pair = start(&client, &server, None);
    pair.run();
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::INTERNAL_ERROR));
}
