//! Which tickets a server issues and a client keeps, and when they end.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::PrivateKey;
use tessera::crypto::{Signer, SigningError};
use tessera::handshake::Reply;
use tessera::resume::{
    ClientSession, ExternalPsk, OneTimeKeyGuard, OpenTicket, PskKind, SessionState, TicketKeys,
    Vault, Verdict,
};
use tessera::wire::{
    AlertDescription, CipherSuite, ContentType, ExtensionType, HandshakeType, NamedGroup,
    SignatureScheme,
};
use tessera::{Destination, Error, ServerConfig};
use tessera_harness::{Mode, Pair, Scene, at, message, messages, open_all, to, vec16};
use tessera_null_provider::provider;

fn scene() -> Scene {
    Scene::new(provider(), Mode::FsDhe)
}

/// Starts both ends; no early data is written yet.
fn start(scene: &Scene, session: Option<ClientSession>) -> Pair {
    Pair::start(&scene.client, &scene.server, to(session), at(0)).expect("starts")
}

/// A one-time key is kept no longer than the ticket that vouches for it.
#[test]
fn a_one_time_key_ends_with_its_ticket() {
    let mut scene = scene();
    scene.server.ticket_lifetime = Duration::from_secs(10);
    let vault = Arc::new(tessera_vault::MemoryVault::new(10));
    scene.server.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault.clone()));
    let mut pair = start(&scene, None);
    pair.run();
    assert_eq!(pair.to_client.sessions.len(), 2);
    let later = at(11).unix.expect("a clock");
    assert_eq!(vault.purge(later), 2);
}

#[test]
fn a_server_that_does_not_resume_issues_no_tickets() {
    let issued = |change: fn(&mut ServerConfig)| {
        let mut scene = scene();
        change(&mut scene.server);
        let mut pair = start(&scene, None);
        pair.run();
        assert!(pair.to_client.complete && pair.to_server.complete);
        (pair.to_client.sessions.len(), scene.vault.len())
    };
    assert_eq!(issued(|_| ()), (2, 2));
    assert_eq!(issued(|server| server.policy.resumption = false), (0, 0));
    // Nor tickets that expire at once.
    assert_eq!(issued(|server| server.policy.max_authentication_age = Duration::ZERO), (0, 0));
}

/// RFC 8446 §4.6.1: the extension early_data means that early data may come.
#[test]
fn a_ticket_without_early_data_has_no_extension_for_it() {
    for (mode, expected) in [(Mode::PskDhe, false), (Mode::Replayable, true)] {
        let scene = Scene::new(provider(), mode);
        let mut pair = start(&scene, None);
        pair.run();
        let opened = open_all(&pair.server_sent, &mut scene.server_sealers());
        let sent = opened.iter().filter(|(_, typ, _)| *typ == ContentType::HANDSHAKE);
        let tickets: Vec<_> = sent
            .flat_map(|(_, _, content)| messages(content))
            .filter(|message| message[0] == HandshakeType::NEW_SESSION_TICKET.0)
            .collect();
        assert_eq!(tickets.len(), 2);
        for ticket in tickets {
            // Its last extension here; it has four bytes.
            let early_data = ExtensionType::EARLY_DATA.0.to_be_bytes();
            let has = ticket[ticket.len() - 8..].starts_with(&[&early_data[..], &[0, 4]].concat());
            assert_eq!(has, expected, "{mode:?}");
        }
    }
}

/// A ticket that began with an external PSK names it, and is withdrawn with it.
#[test]
fn tickets_of_a_withdrawn_psk_are_not_resumed() {
    let mut scene = scene();
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let alice = ExternalPsk::new(b"alice".to_vec(), vec![7; 32].into(), suite);
    scene.server.external_psks = vec![alice.clone()];
    let destination = |session| Destination { external_psks: vec![alice.clone()], ..to(session) };
    let connect = |server: &ServerConfig, destination| {
        let mut pair = Pair::start(&scene.client, server, destination, at(0)).expect("starts");
        pair.run();
        assert!(pair.to_server.complete);
        pair
    };
    let mut first = connect(&scene.server, destination(None));
    let session = first.to_client.sessions.pop().expect("a session").export();
    let session = || Some(ClientSession::import(&session).expect("as exported"));
    let with_psk = scene.server.clone();
    scene.server.external_psks.clear();
    let withdrawn = connect(&scene.server, destination(session()));
    assert_eq!(withdrawn.server.facts().psk, None);
    assert_eq!(withdrawn.to_client.verdict, Some(Verdict::Burned));
    // The client drops them as well, once it doesn't list the PSK any more.
    let forgotten = connect(&with_psk, to(session()));
    assert_eq!(forgotten.server.facts().psk, None);
    let known = connect(&with_psk, destination(session()));
    assert_eq!(known.server.facts().psk, Some(PskKind::Resumption), "its key was burned");
    assert_eq!(known.server.facts().external_psk.as_deref(), Some(b"alice".as_slice()));
}

/// A name proves nothing without its secret: a listener with another secret under the same name refuses clients
/// with the first, and so it does their tickets. The client does alike.
#[test]
fn tickets_are_good_under_the_secret_of_their_psk_alone() {
    let scene = scene();
    let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
    let psk = |secret| ExternalPsk::new(b"alice".to_vec(), vec![secret; 32].into(), suite);
    let connect = |server: &ServerConfig, secret, session| {
        let destination = Destination { external_psks: vec![psk(secret)], ..to(session) };
        let mut pair = Pair::start(&scene.client, server, destination, at(0)).expect("starts");
        pair.run();
        pair
    };
    let mut first = scene.server.clone();
    first.external_psks = vec![psk(7)];
    let mut begun = connect(&first, 7, None);
    let session = begun.to_client.sessions.pop().expect("a session").export();
    let session = || Some(ClientSession::import(&session).expect("as exported"));
    let mut other = scene.server.clone();
    other.external_psks = vec![psk(8)];
    let refused = connect(&other, 7, session());
    assert_eq!(refused.server.facts().psk, None);
    assert_eq!(refused.to_server.early_data, b"");
    let renamed = connect(&first, 9, session());
    assert_eq!(renamed.server.facts().psk, None);
    let known = connect(&first, 7, session());
    assert_eq!(known.server.facts().psk, Some(PskKind::ForwardSecret), "its key was not taken");
}

/// A client doesn't ask for more tickets in a row than it accepts.
#[test]
fn a_client_asks_for_no_more_tickets_than_it_takes() {
    let mut scene = scene();
    scene.client.policy.tickets.new_session_count = 200;
    scene.server.policy.tickets.new_session_count = 200;
    let mut pair = start(&scene, None);
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.to_client.sessions.len(), 32);
}

/// A client knows when a one-time key has expired, and spends no early data on it.
#[test]
fn a_client_sends_no_early_data_for_a_one_time_key_that_is_gone() {
    let mut scene = scene();
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.lifetime = Duration::from_secs(60);
    }
    let connect = |session, seconds| {
        let mut pair =
            Pair::start(&scene.client, &scene.server, to(session), at(seconds)).expect("starts");
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

/// A server may send a public key of any length. One that doesn't fit a session's file is of no
/// kind that the client knows.
#[test]
fn a_one_time_public_key_of_another_length_is_ignored() {
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

/// Results of an owner's key or store may have any length; not all of them fit a message.
#[test]
fn signatures_and_tickets_that_fit_no_message_are_not_sent() {
    struct TicketMaker(usize);
    impl Signer for TicketMaker {
        fn schemes(&self) -> &[SignatureScheme] {
            &[SignatureScheme::ED25519]
        }
        fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
            Ok(vec![1; self.0])
        }
    }
    impl TicketKeys for TicketMaker {
        fn seal(&self, _: &SessionState, _: Duration) -> Option<Vec<u8>> {
            Some(vec![1; self.0])
        }
        fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
            Reply::Now(None)
        }
    }
    let mut scene = scene();
    for (len, tickets) in [(0, 0), (65_535, 2), (65_536, 0), (1 << 24, 0)] {
        scene.server.tickets = Some(Arc::new(TicketMaker(len)));
        let mut pair = start(&scene, None);
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{len}");
        assert_eq!(pair.to_client.sessions.len(), tickets, "{len}");
    }
    scene.server.credentials[0].key = PrivateKey::Signs(Arc::new(TicketMaker(65_536)));
    let mut pair = start(&scene, None);
    pair.run();
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::INTERNAL_ERROR));
}
