//! Where a session is valid: under the verifier that accepted its peer, in its epoch of the policy, whatever
//! listener, name, protocol or chooser leads there.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{
    Checked, ChooseConfig, ClientAuthentication, ConfigChooser, NoConfig, Reply,
};
use tessera::resume::{
    Absence, ClientSession, OpenTicket, PskKind, SessionState, TakeAnswer, TakePurpose, TakeSecret,
    TicketKeys, Vault, Verdict,
};
use tessera::wire::{AlertDescription, ExtensionType, SignatureScheme};
use tessera::{EarlyDataStatus, Error, ServerConfig};
use tessera_harness::{Hello, Mode, Pair, SERVER_NAME, Scene, at, credential, records};
use tessera_null_provider::{NullVerifier, provider};

/// Accepts every peer or none, as its name states.
#[derive(Clone, Copy)]
struct Authority {
    name: &'static str,
    accepts: bool,
}

const LAX: Authority = Authority { name: "lax", accepts: true };
/// Accepts none: a client that connects must have resumed.
const STRICT: Authority = Authority { name: "strict", accepts: false };

impl PeerVerifier for Authority {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: an authority").with(self.name.as_bytes())
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let identity = PeerIdentity { blob: self.name.as_bytes().to_vec(), expires_at: None };
        let refusal =
            || PeerRejected { alert: AlertDescription::UNKNOWN_CA, reason: "not one of us".into() };
        Reply::Now(self.accepts.then(|| identity.into()).ok_or_else(refusal))
    }
}

fn optional(verifier: impl PeerVerifier + 'static) -> ClientAuthentication {
    ClientAuthentication::Optional(Arc::new(verifier))
}

fn required(verifier: impl PeerVerifier + 'static) -> ClientAuthentication {
    ClientAuthentication::Required(Arc::new(verifier))
}

/// The ways to reconnect.
const MODES: [Mode; 6] =
    [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// A client with a certificate, and a server that accepts it according to `authentication`. Changed servers share
/// ticket keys, vault and register.
fn scene(mode: Mode, authentication: ClientAuthentication) -> Scene {
    let mut scene = Scene::new(provider(), mode);
    scene.client.credentials = vec![credential()];
    scene.server.client_authentication = authentication;
    scene
}

fn session(scene: &Scene) -> ClientSession {
    scene.session().expect("a session")
}

/// The same scene at another listener.
fn at_listener(scene: &Scene, authentication: ClientAuthentication) -> Scene {
    let mut there = scene.clone();
    there.server.client_authentication = authentication;
    there
}

/// Reconnects; both ends agree on how.
fn come_back(scene: &Scene, session: ClientSession) -> (Option<PskKind>, Pair) {
    let mut pair = scene.start(Some(session), at(1));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    assert_eq!(pair.client.facts().psk, pair.server.facts().psk);
    (pair.server.facts().psk, pair)
}

/// Asserts that the flight was not executed, can't be any more, and that the client knows.
fn assert_burned(scene: &Scene, session: &ClientSession, pair: &Pair) {
    assert_eq!(pair.server.facts().psk, None);
    assert_eq!(pair.to_server.early_data, b"");
    let Some(ticket) = &session.forward_secret else {
        return assert!(pair.to_client.verdict.is_none_or(|verdict| verdict == Verdict::Unknown));
    };
    let offered = pair.client.facts().early_data != EarlyDataStatus::NotOffered;
    assert_eq!(pair.to_client.verdict, offered.then_some(Verdict::Burned));
    let question = TakeSecret::new(ticket.handle, TakePurpose::Accept, None);
    assert!(matches!(scene.vault.take(&question), Reply::Now(TakeAnswer::Absent(Absence::Burned))));
}

fn copy(session: &ClientSession) -> ClientSession {
    ClientSession::import(&session.export()).expect("as exported")
}

#[test]
fn a_ticket_of_a_lax_listener_is_nothing_at_a_strict_one() {
    for mode in MODES {
        let public = scene(mode, optional(LAX));
        let admin = at_listener(&public, required(STRICT));
        let session = session(&public);
        let mut pair = admin.start(Some(copy(&session)), at(1));
        pair.run();
        // As without a ticket: the certificate is asked for, and refused.
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::UNKNOWN_CA), "{mode:?}");
        assert_eq!(pair.server.facts().peer, None);
        assert_burned(&public, &session, &pair);
    }
}

/// An attacker who can't prove possession of a ticket burns nothing with it.
#[test]
fn an_altered_flight_burns_no_key_of_a_ticket_that_may_not_be_used() {
    let public = scene(Mode::FsDhe, optional(LAX));
    let session = session(&public);
    let mut pair = at_listener(&public, required(STRICT)).start(Some(copy(&session)), at(1));
    let mut flight = pair.intercept_client();
    // The ClientHello ends with the sealed ticket's binder.
    let end = records(&flight)[0].len();
    flight[end - 1] ^= 1;
    pair.deliver_to_server(&flight);
    let alert = pair.to_server.error.as_ref().and_then(Error::alert);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    let ticket = session.forward_secret.as_ref().expect("a pair");
    let question = TakeSecret::new(ticket.handle, TakePurpose::Burn, None);
    assert!(matches!(public.vault.take(&question), Reply::Now(TakeAnswer::Taken(_))));
}

/// A configuration for one protocol, and another for the rest.
struct ByProtocol {
    admin: Checked<ServerConfig>,
    public: Checked<ServerConfig>,
}

impl ConfigChooser for ByProtocol {
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        let is_admin = question.protocols.iter().any(|name| name == b"admin");
        Reply::Now(Ok(if is_admin { &self.admin } else { &self.public }.clone()))
    }
}

/// A scene whose chooser selects the verifier by protocol.
fn by_protocol(mode: Mode, public: Authority, admin: Authority) -> Scene {
    let mut scene = scene(mode, ClientAuthentication::None);
    scene.client.protocols = vec![b"public".to_vec()];
    let of = |name: &[u8], authentication| {
        let mut config = scene.server.clone();
        config.protocols = vec![name.to_vec()];
        config.client_authentication = authentication;
        config.checked().expect("it can work")
    };
    let public = of(b"public", optional(public));
    let admin = of(b"admin", required(admin));
    scene.server.chooser = Some(Arc::new(ByProtocol { admin, public }));
    scene
}

#[test]
fn a_ticket_of_one_choice_of_the_chooser_is_nothing_at_another() {
    for mode in MODES {
        let mut scene = by_protocol(mode, LAX, STRICT);
        let session = session(&scene);
        scene.client.protocols = vec![b"admin".to_vec()];
        let mut pair = scene.start(Some(copy(&session)), at(1));
        pair.run();
        let alert = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(alert, Some(AlertDescription::UNKNOWN_CA), "{mode:?}");
        assert_burned(&scene, &session, &pair);
    }
}

/// RFC 8446 §4.2.10 binds only early data to the protocol.
#[test]
fn a_choice_with_another_protocol_and_the_same_verifier_resumes_without_early_data() {
    for mode in MODES {
        let mut scene = by_protocol(mode, LAX, LAX);
        let session = session(&scene);
        scene.client.protocols = vec![b"admin".to_vec()];
        let (psk, pair) = come_back(&scene, session);
        assert!(psk.is_some(), "{mode:?}");
        assert_eq!(pair.to_server.early_data, b"");
        let blob = pair.server.facts().peer.as_ref().map(|peer| &*peer.blob);
        assert_eq!(blob, Some(&b"lax"[..]));
    }
}

/// Whether a verifier is optional or required doesn't matter to a client that it has accepted.
#[test]
fn optional_and_required_listeners_of_one_verifier_share_their_tickets() {
    for (from, to) in [(optional(LAX), required(LAX)), (required(LAX), optional(LAX))] {
        let scene = scene(Mode::FsDhe, from);
        let session = session(&scene);
        let (psk, pair) = come_back(&at_listener(&scene, to), session);
        assert_eq!(psk, Some(PskKind::ForwardSecret));
        assert!(!pair.to_server.early_data.is_empty());
        assert!(pair.server.facts().peer.is_some());
    }
}

#[test]
fn a_ticket_of_an_anonymous_client_resumes_wherever_such_clients_are_accepted() {
    let mut scene = scene(Mode::FsDhe, optional(LAX));
    scene.client.credentials.clear();
    for (there, resumes) in [
        (ClientAuthentication::None, true),
        (optional(STRICT), true),
        (required(LAX), false),
        (required(STRICT), false),
    ] {
        let there = at_listener(&scene, there);
        let session = session(&scene);
        let mut pair = there.start(Some(copy(&session)), at(1));
        pair.run();
        assert_eq!(pair.server.facts().psk.is_some(), resumes);
        if !resumes {
            assert_burned(&scene, &session, &pair);
        }
    }
}

/// If no certificate is asked for, no client has an identity, not even by a ticket.
#[test]
fn a_ticket_with_a_peer_is_nothing_where_no_client_is_asked() {
    for mode in MODES {
        let with_peers = scene(mode, required(LAX));
        let session = session(&with_peers);
        let there = at_listener(&with_peers, ClientAuthentication::None);
        let (psk, pair) = come_back(&there, copy(&session));
        assert_eq!(psk, None);
        assert_eq!(pair.server.facts().peer, None);
        assert_burned(&with_peers, &session, &pair);
    }
}

#[test]
fn an_owner_can_let_clients_of_other_verifiers_resume_by_name() {
    let old = scene(Mode::FsDhe, required(LAX));
    let mut new = at_listener(&old, required(Authority { name: "new", accepts: true }));
    let closed = new.clone();
    new.server.also_resume_peers_accepted_by = vec![STRICT.policy(), LAX.policy()];
    let (psk, mut pair) = come_back(&new, session(&old));
    assert_eq!(psk, Some(PskKind::ForwardSecret));
    assert!(!pair.to_server.early_data.is_empty());
    // The tickets of that connection are still those of the old verifier's client.
    let next = pair.to_client.sessions.pop().expect("a session");
    assert_eq!(come_back(&closed, copy(&next)).0, None);
    // Its one-time key was burned there.
    assert_eq!(come_back(&new, next).0, Some(PskKind::Resumption));
    // It widens nothing else.
    let mut nobody = old.clone();
    nobody.server.client_authentication = optional(LAX);
    nobody.client.credentials.clear();
    assert_eq!(come_back(&new, session(&nobody)).0, None);
    new.server.policy_epoch = 1;
    assert_eq!(come_back(&new, session(&old)).0, None);
}

#[test]
fn a_new_epoch_of_the_servers_policy_ends_all_its_tickets() {
    for mode in MODES {
        for authentication in [ClientAuthentication::None, required(LAX)] {
            let mut scene = scene(mode, authentication);
            let old = session(&scene);
            scene.server.policy_epoch = 7;
            let (psk, pair) = come_back(&scene, copy(&old));
            assert_eq!(psk, None, "{mode:?}");
            assert_burned(&scene, &old, &pair);
            assert!(come_back(&scene, session(&scene)).0.is_some(), "its own are good");
        }
    }
}

/// Reconnects, and returns whether the session was in the ClientHello.
fn is_offered(scene: &Scene, session: ClientSession) -> bool {
    let (psk, pair) = come_back(scene, session);
    let hello = Hello::read(&records(&pair.client_sent)[0][5..]);
    let offered = hello.extension(ExtensionType::PRE_SHARED_KEY).is_some();
    assert_eq!(offered, psk.is_some(), "a good session is taken");
    assert!(offered || hello.extension(ExtensionType::EARLY_DATA).is_none());
    offered
}

#[test]
fn a_client_offers_a_session_only_under_the_verifier_that_accepted_its_server() {
    for mode in MODES {
        let mut scene = Scene::new(provider(), mode);
        scene.client.verifier = Arc::new(LAX);
        // As loaded from a file.
        let kept = || copy(&session(&scene));
        let (first, second) = (kept(), kept());
        let mut other = scene.clone();
        other.client.verifier = Arc::new(Authority { name: "another", accepts: true });
        assert!(!is_offered(&other, first), "{mode:?}");
        // Another verifier of the same policy is the same.
        scene.client.verifier = Arc::new(LAX);
        assert!(is_offered(&scene, second), "{mode:?}");
    }
}

#[test]
fn a_new_epoch_of_the_clients_policy_ends_all_its_sessions() {
    for mode in MODES {
        let mut scene = Scene::new(provider(), mode);
        let old = session(&scene);
        scene.client.policy_epoch = 1;
        assert!(!is_offered(&scene, old), "{mode:?}");
        let own = copy(&session(&scene));
        assert!(is_offered(&scene, own), "{mode:?}");
        scene.client.policy_epoch = 2;
        assert!(!is_offered(&scene, session(&Scene::new(provider(), mode))), "{mode:?}");
    }
}

/// Returns whether what a client's connection rests on is valid under another configuration of the server.
fn upholds(earlier: &Scene, later: &Scene, pair: &Pair) -> bool {
    let checked = |scene: &Scene| scene.server.clone().checked().expect("it can work");
    let earlier = checked(earlier);
    let Some(foundation) = earlier.foundation(pair.server.facts()) else { return true };
    assert!(earlier.upholds(&foundation));
    checked(later).upholds(&foundation)
}

#[test]
fn a_configuration_upholds_connections_whose_verifier_counts_there() {
    for mode in MODES {
        let scene = scene(mode, required(LAX));
        let mut full = scene.start(None, at(0));
        full.run();
        let (psk, resumed) = come_back(&scene, session(&scene));
        assert!(psk.is_some());
        for pair in [&full, &resumed] {
            assert!(upholds(&scene, &scene, pair));
            assert!(upholds(&scene, &at_listener(&scene, optional(LAX)), pair));
            assert!(!upholds(&scene, &at_listener(&scene, required(STRICT)), pair));
            assert!(!upholds(&scene, &at_listener(&scene, ClientAuthentication::None), pair));
            let mut later = at_listener(&scene, required(STRICT));
            later.server.also_resume_peers_accepted_by = vec![LAX.policy()];
            assert!(upholds(&scene, &later, pair));
            // Then those of the later one don't count in the earlier one.
            assert!(!upholds(&later, &scene, pair));
            let mut later = scene.clone();
            later.server.policy_epoch = 1;
            assert!(!upholds(&scene, &later, pair));
        }
    }
}

#[test]
fn a_configuration_keeps_sessions_where_every_verifier_counts_in_the_same_epoch() {
    let one = scene(Mode::PskDhe, required(LAX));
    let mut both = at_listener(&one, required(STRICT));
    both.server.also_resume_peers_accepted_by = vec![LAX.policy()];
    let mut new_epoch = one.clone();
    new_epoch.server.policy_epoch = 1;
    let keeps = |later: &Scene, earlier: &Scene| {
        let checked = |scene: &Scene| scene.server.clone().checked().expect("it can work");
        checked(later).keeps_sessions_of(&checked(earlier))
    };
    assert!(keeps(&one, &one) && keeps(&both, &one) && keeps(&new_epoch, &new_epoch));
    assert!(!keeps(&one, &both), "one of two has gone");
    assert!(!keeps(&new_epoch, &one) && !keeps(&one, &new_epoch));
}

#[test]
fn an_anonymous_connection_depends_only_on_its_sessions_epoch() {
    let scene = scene(Mode::FsDhe, ClientAuthentication::None);
    let mut full = scene.start(None, at(0));
    full.run();
    let (_, resumed) = come_back(&scene, session(&scene));
    let other = at_listener(&scene, required(STRICT));
    let mut later = scene.clone();
    later.server.policy_epoch = 1;
    assert!(upholds(&scene, &other, &full) && upholds(&scene, &later, &full));
    assert!(upholds(&scene, &other, &resumed) && !upholds(&scene, &later, &resumed));
}

#[test]
fn a_choice_is_upheld_only_by_the_same_chooser() {
    let scene = by_protocol(Mode::FsDhe, LAX, STRICT);
    let mut full = scene.start(None, at(0));
    full.run();
    assert!(full.server.facts().peer.is_some());
    assert!(upholds(&scene, &scene, &full));
    let mut later = scene.clone();
    later.server.protocols = vec![b"new".to_vec()];
    assert!(upholds(&scene, &later, &full));
    assert!(!upholds(&scene, &by_protocol(Mode::FsDhe, LAX, STRICT), &full));
    later.server.chooser = None;
    assert!(!upholds(&scene, &later, &full));
}

/// Tickets that don't contain the server_name, as those of some other servers.
struct NamelessTickets;

impl TicketKeys for NamelessTickets {
    fn seal(&self, session: &SessionState, _: Duration) -> Option<Vec<u8>> {
        let mut session = SessionState::decode(&session.encode())?;
        session.server_name = None;
        Some(session.encode().to_vec())
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        assert_eq!(question.server_name.as_deref(), Some(SERVER_NAME));
        let session = SessionState::decode(&question.identity);
        let server_name = question.server_name.clone();
        Reply::Now(session.map(|session| SessionState { server_name, ..session }))
    }
}

#[test]
fn ticket_keys_learn_the_server_name_of_the_connection() {
    let mut scene = Scene::new(provider(), Mode::PskDhe);
    scene.server.tickets = Some(Arc::new(NamelessTickets));
    let session = session(&scene);
    assert_eq!(come_back(&scene, session).0, Some(PskKind::Resumption));
}
