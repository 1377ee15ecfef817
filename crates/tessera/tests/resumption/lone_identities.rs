//! Forward-secret identities that are sent alone, by stacks that can offer no second one: accepted once
//! if the server allows it, and otherwise nothing but a full handshake.

use std::sync::Arc;
use std::time::Duration;

use tessera::Error;
use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::handshake::{ClientAuthentication, EarlyDataStatus, Reply, ServerQuestion};
use tessera::resume::{
    AcceptResumption, Ancestry, ClientSession, FlightHandle, OpenTicket, PskKind, PutRefused,
    PutSecret, ResumptionJudge, ResumptionVerdict, SessionState, TakeAnswer, TakeSecret,
    TicketKeys, Vault, Verdict,
};
use tessera::wire::{AlertDescription, ContentType, ExtensionType, NamedGroup, SignatureScheme};
use tessera_harness::{
    EARLY_DATA, Hello, Mode, OneVault, Pair, Scene, Sealer, UnsealedTickets, at, binder,
    expand_label_to_hash, plain, records, vec16,
};
use tessera_null_provider::NullVerifier;

fn scene() -> Scene {
    scene_of(Mode::FsDhe)
}

fn scene_of(mode: Mode) -> Scene {
    let mut scene = Scene::new(tessera_aws_lc::provider(), mode);
    allow(&mut scene, true);
    scene
}

fn allow(scene: &mut Scene, allowed: bool) {
    let guard = scene.server.policy.early_data.forward_secret.as_mut();
    guard.expect("the scene has a guard").lone_identities = allowed;
}

/// The first flight of a client that offers only the forward-secret identity.
struct Flight {
    hello: Hello,
    identity: Vec<u8>,
    psk: Vec<u8>,
}

impl Flight {
    /// A flight of this session's client; `ticket` replaces its own in the identity.
    fn with_ticket(scene: &Scene, session: ClientSession, ticket: Option<&[u8]>) -> Self {
        let hash = scene.suite().hash;
        let own = session.forward_secret.as_ref().expect("a forward-secret ticket");
        let (kind, public, id) = (own.kind, own.public.clone(), own.id);
        let fs_secret = own.secret.expose().to_vec();
        let resumption = session.state.psk.expose().to_vec();
        let sealed = ticket.unwrap_or(&session.ticket).to_vec();
        let flight = scene.start(Some(session), at(0)).intercept_client();

        let agreement = scene.client.provider.group(kind);
        let agreed = agreement.map(|group| group.encapsulate(&public).expect("agrees"));
        let (encapsulated, agreed) = match &agreed {
            Some((encapsulated, secret)) => (encapsulated.as_slice(), secret.expose()),
            None => (&[] as &[u8], &[] as &[u8]),
        };
        let prefix = b"\xff\x5afs\x02";
        let mut identity = [prefix, &id[..], &vec16(encapsulated), &vec16(&sealed)].concat();
        let proof = binder(hash, &resumption, "fs proof", &identity);
        identity.extend_from_slice(&proof);
        let extracted = hash.extract(&fs_secret, agreed);
        let context = hash.hash(&identity);
        let psk = expand_label_to_hash(hash, extracted.expose(), "0rttfs", context.as_ref());

        let mut hello = Hello::read(&records(&flight)[0][5..]);
        // A stock stack doesn't know the extension.
        hello.remove(ExtensionType::FORWARD_SECRET_EARLY_DATA);
        hello.set_identities(&[(identity.clone(), 0)], hash.len());
        Self { hello, identity, psk }
    }

    fn new(scene: &Scene) -> Self {
        Self::with_ticket(scene, scene.session().expect("a session"), None)
    }

    /// The hello with a fitting binder, and early data.
    fn bytes(&mut self, scene: &Scene) -> Vec<u8> {
        let suite = scene.suite();
        self.hello.bind(0, suite, &self.psk, "ext binder");
        let hello = self.hello.write();
        let early = suite.hash.extract(&[], &self.psk);
        let digest = suite.hash.hash(&hello);
        let traffic =
            expand_label_to_hash(suite.hash, early.expose(), "c e traffic", digest.as_ref());
        let record = Sealer::new(suite, &traffic).seal(ContentType::APPLICATION_DATA, EARLY_DATA);
        [plain(ContentType::HANDSHAKE, &hello), record].concat()
    }
}

/// Sends a flight to the scene's server.
fn deliver(scene: &Scene, flight: &[u8]) -> Pair {
    let mut pair = scene.start(None, at(0));
    pair.intercept_client();
    pair.deliver_to_server(flight);
    pair
}

fn alert(pair: &Pair) -> Option<AlertDescription> {
    pair.to_server.error.as_ref().and_then(Error::alert)
}

/// Asserts that the server continues with a full handshake, without early data.
fn falls_back(pair: &Pair) {
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.to_server.early_data, b"");
    assert_eq!(pair.server.facts().psk, None);
    assert!(pair.server.facts().suite.is_some(), "it answered");
    assert_eq!(pair.server.facts().one_time_key, None);
}

#[test]
fn a_lone_identity_is_accepted_once() {
    for mode in [Mode::FsDhe, Mode::FsPsk] {
        let scene = scene_of(mode);
        let mut flight = Flight::new(&scene);
        let bytes = flight.bytes(&scene);
        let keys = scene.vault.len();
        let pair = deliver(&scene, &bytes);
        assert_eq!(pair.to_server.error, None);
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
        let facts = pair.server.facts();
        assert_eq!(facts.psk, Some(PskKind::ForwardSecret));
        assert_eq!(facts.early_data, EarlyDataStatus::Accepted);
        assert!(facts.one_time_key.is_some() && facts.flight.is_some());
        assert_eq!(facts.ancestry, Some(Ancestry::PostQuantum), "of the session");
        assert_eq!(scene.vault.len(), keys - 1);

        falls_back(&deliver(&scene, &bytes));
    }
}

#[test]
fn a_lone_identity_is_accepted_only_where_the_server_allows_it() {
    let mut scene = scene();
    allow(&mut scene, false);
    let bytes = Flight::new(&scene).bytes(&scene);
    let keys = scene.vault.len();
    falls_back(&deliver(&scene, &bytes));
    assert_eq!(scene.vault.len(), keys, "nothing was taken");
    allow(&mut scene, true);
    assert_eq!(deliver(&scene, &bytes).to_server.early_data, EARLY_DATA);
}

#[test]
fn a_lone_identity_is_nothing_under_another_verifier() {
    let mut scene = scene();
    let mutual = Scene::new(tessera_aws_lc::provider(), Mode::Mutual);
    scene.client.credentials = mutual.client.credentials;
    scene.server.client_authentication = mutual.server.client_authentication.clone();
    let bytes = Flight::new(&scene).bytes(&scene);
    let keys = scene.vault.len();
    for other in
        [ClientAuthentication::None, ClientAuthentication::Required(Arc::new(RejectingVerifier))]
    {
        scene.server.client_authentication = other;
        falls_back(&deliver(&scene, &bytes));
        assert_eq!(scene.vault.len(), keys, "nothing was taken");
    }
    scene.server.client_authentication = mutual.server.client_authentication;
    assert_eq!(deliver(&scene, &bytes).to_server.early_data, EARLY_DATA);
}

/// A verifier that accepts no peer.
struct RejectingVerifier;

impl PeerVerifier for RejectingVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("tests: no peer")
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        let alert = AlertDescription::UNKNOWN_CA;
        Reply::Now(Err(PeerRejected { alert, reason: "nobody".into() }))
    }
}

#[test]
fn any_change_of_a_lone_identity_is_noticed_before_the_take() {
    let scene = scene();
    let mut flight = Flight::new(&scene);
    flight.bytes(&scene);
    let keys = scene.vault.len();
    for index in 0..flight.identity.len() {
        let mut identity = flight.identity.clone();
        identity[index] ^= 1 << (index % 8);
        let psk = flight.psk.clone();
        let mut changed = Flight { hello: flight.hello.clone(), identity, psk };
        changed.hello.set_identities(&[(changed.identity.clone(), 0)], 32);
        let pair = deliver(&scene, &changed.bytes(&scene));
        assert_eq!(pair.to_server.early_data, b"");
        assert!(matches!(alert(&pair), None | Some(AlertDescription::DECRYPT_ERROR)), "{index}");
        // The proof itself, and the encapsulation: the ticket opens, so it's forged.
        if index >= flight.identity.len() - 32 || (39..39 + 1120).contains(&index) {
            assert_eq!(alert(&pair), Some(AlertDescription::DECRYPT_ERROR), "{index}");
        }
        assert_eq!(scene.vault.len(), keys, "byte {index}");
    }
    assert_eq!(deliver(&scene, &flight.bytes(&scene)).to_server.early_data, EARLY_DATA);
}

/// All of it is needed: a truncated or longer proof is none.
#[test]
fn a_lone_identity_of_another_length_is_unknown() {
    let scene = scene();
    let mut flight = Flight::new(&scene);
    flight.bytes(&scene);
    let keys = scene.vault.len();
    for len in (0..flight.identity.len()).chain([flight.identity.len() + 1]).skip(1) {
        let mut identity = flight.identity.clone();
        identity.resize(len, 0);
        let psk = flight.psk.clone();
        let mut changed = Flight { hello: flight.hello.clone(), identity, psk };
        changed.hello.set_identities(&[(changed.identity.clone(), 0)], 32);
        let pair = deliver(&scene, &changed.bytes(&scene));
        assert_eq!(pair.to_server.early_data, b"", "{len} bytes");
        assert_eq!(scene.vault.len(), keys, "{len} bytes");
    }
}

/// The cost of the option: a copied identity burns its key. None of the attacker's data is accepted, and
/// the client falls back to a full handshake.
#[test]
fn a_copied_lone_identity_burns_its_key_and_no_more() {
    let scene = scene();
    let mut flight = Flight::new(&scene);
    let original = flight.bytes(&scene);
    let keys = scene.vault.len();
    let mut copied = Flight { psk: vec![7; 32], hello: flight.hello, identity: flight.identity };
    let pair = deliver(&scene, &copied.bytes(&scene));
    assert_eq!(alert(&pair), Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(pair.to_server.early_data, b"");
    assert_eq!(scene.vault.len(), keys - 1);
    falls_back(&deliver(&scene, &original));
}

/// The ticket must name the key: with another ticket of its own, a client can't burn another's key.
#[test]
fn a_ticket_in_a_lone_identity_vouches_for_its_own_key_alone() {
    let scene = scene();
    let mut sessions = scene.sessions();
    let (mut thief, owner) = (sessions.remove(0), sessions.remove(0));
    thief.forward_secret = owner.forward_secret;
    let keys = scene.vault.len();
    let bytes = Flight::with_ticket(&scene, thief, None).bytes(&scene);
    falls_back(&deliver(&scene, &bytes));
    assert_eq!(scene.vault.len(), keys);
}

/// Nor with another's ticket, seen on the wire: the proof needs its PSK.
#[test]
fn a_ticket_in_a_lone_identity_vouches_for_nothing_without_its_psk() {
    let scene = scene();
    let mut sessions = scene.sessions();
    let (mut thief, owner) = (sessions.remove(0), sessions.remove(0));
    let seen = owner.ticket.clone();
    thief.forward_secret = owner.forward_secret;
    let keys = scene.vault.len();
    let bytes = Flight::with_ticket(&scene, thief, Some(&seen)).bytes(&scene);
    assert_eq!(alert(&deliver(&scene, &bytes)), Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(scene.vault.len(), keys);
}

#[test]
fn a_lone_identity_counts_only_as_the_first_one() {
    let scene = scene();
    let mut flight = Flight::new(&scene);
    let psk = flight.psk.clone();
    let stranger = (b"a ticket of someone else's".to_vec(), 0);
    flight.hello.set_identities(&[stranger, (flight.identity.clone(), 0)], 32);
    flight.hello.bind(1, scene.suite(), &psk, "ext binder");
    let keys = scene.vault.len();
    falls_back(&deliver(&scene, &plain(ContentType::HANDSHAKE, &flight.hello.write())));
    assert_eq!(scene.vault.len(), keys);
}

/// A flight that can't be accepted leaves no key behind, and gets a full handshake.
#[test]
fn the_key_of_a_lone_identity_that_does_not_fit_is_burned() {
    // Early data is never for the second hello (RFC 8446 §4.2.10).
    let mut scene = scene();
    let mut flight = Flight::new(&scene);
    let bytes = flight.bytes(&scene);
    let keys = scene.vault.len();
    let accepts = scene.clone();
    scene.server.groups = vec![NamedGroup::X25519];
    let mut pair = deliver(&scene, &bytes);
    assert!(pair.server.facts().hello_retry);
    assert_eq!(scene.vault.len(), keys, "nothing is taken before the second hello");
    let group = scene.server.provider.group(NamedGroup::X25519).expect("of the provider");
    let ephemeral = group.generate().expect("a key");
    let share = [&NamedGroup::X25519.0.to_be_bytes()[..], &vec16(ephemeral.share())].concat();
    flight.hello.set(ExtensionType::KEY_SHARE, &vec16(&share));
    flight.hello.remove(ExtensionType::EARLY_DATA);
    pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &flight.hello.write()));
    falls_back(&pair);
    assert_eq!(scene.vault.len(), keys - 1);
    falls_back(&deliver(&accepts, &bytes));
}

/// The same if the owner refuses its early data. A client that lists kinds of keys gets the verdict.
#[test]
fn the_key_of_a_lone_identity_that_the_owner_refuses_is_burned() {
    for asks in [false, true] {
        let mut scene = scene();
        let mut flight = Flight::new(&scene);
        if asks {
            let kind = NamedGroup::X25519.0.to_be_bytes();
            flight.hello.set(ExtensionType::FORWARD_SECRET_EARLY_DATA, &vec16(&kind));
        }
        let bytes = flight.bytes(&scene);
        let keys = scene.vault.len();
        let accepts = scene.clone();
        scene.server.judge = Some(Arc::new(EarlyDataRefuser));
        let mut pair = deliver(&scene, &bytes);
        falls_back(&pair);
        let verdict = if asks { Verdict::Burned } else { Verdict::Unknown };
        assert_eq!(pair.server.facts().early_data, EarlyDataStatus::Rejected(verdict));
        let sent = pair.intercept_server();
        let mut sealers = scene.server_sealers();
        let messages = tessera_harness::open_all(&sent, &mut sealers);
        let wanted = [&ExtensionType::FORWARD_SECRET_EARLY_DATA.0.to_be_bytes()[..], &[0, 1, 1]];
        let wanted = wanted.concat();
        let is_told = messages
            .iter()
            .any(|(_, _, content)| content.windows(wanted.len()).any(|window| window == wanted));
        assert_eq!(is_told, asks);
        assert_eq!(scene.vault.len(), keys - 1);
        falls_back(&deliver(&accepts, &bytes));
    }
}

struct EarlyDataRefuser;

impl ResumptionJudge for EarlyDataRefuser {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        assert_eq!(question.kind, PskKind::ForwardSecret);
        Reply::Now(ResumptionVerdict::AcceptWithoutEarlyData)
    }
}

/// Opens tickets and takes secrets later.
struct Later(Arc<OneVault>);

impl TicketKeys for Later {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        UnsealedTickets.seal(session, unix)
    }

    fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Later
    }
}

impl Vault for Later {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.0.put(put)
    }

    fn take(&self, _: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Later
    }

    fn burn(&self, handle: &FlightHandle) {
        self.0.burn(handle);
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn now<A>(reply: Reply<A>) -> A {
    match reply {
        Reply::Now(answer) => answer,
        Reply::Later => unreachable!("answers at once"),
    }
}

/// The question about the ticket contains only the ticket; the proof is checked after the answer.
#[test]
fn a_lone_identity_is_checked_after_an_answer_that_comes_later() {
    for proved in [true, false] {
        let mut scene = scene();
        let later = Arc::new(Later(scene.vault.clone()));
        scene.server.tickets = Some(later.clone());
        let guard = scene.server.policy.early_data.forward_secret.as_mut();
        guard.expect("the scene has a guard").vault = later;
        let session = scene.session().expect("a session");
        let ticket = session.ticket.clone();
        let mut flight = Flight::with_ticket(&scene, session, None);
        if !proved {
            *flight.identity.last_mut().expect("a proof") ^= 1;
            flight.hello.set_identities(&[(flight.identity.clone(), 0)], 32);
        }
        let keys = scene.vault.len();
        let mut pair = deliver(&scene, &flight.bytes(&scene));

        let Some(ServerQuestion::OpenTicket(asked)) = pair.server_questions.pop() else {
            unreachable!("it asks for the ticket first")
        };
        assert_eq!(asked.question.identity, ticket);
        let answer = now(UnsealedTickets.open(&asked.question));
        let (at, out) = (pair.now, &mut pair.server_output);
        let answered = pair.server.answer(asked.token, answer, at, out);
        pair.deliver_to_server(&[]);
        if !proved {
            let alert = answered.expect_err("forged").alert();
            assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
            assert!(pair.server_questions.is_empty());
            assert_eq!(scene.vault.len(), keys);
            continue;
        }
        assert_eq!(answered, Ok(()));
        let Some(ServerQuestion::TakeSecret(asked)) = pair.server_questions.pop() else {
            unreachable!("it asks for the secret next")
        };
        let answer = now(scene.vault.take(&asked.question));
        let (at, out) = (pair.now, &mut pair.server_output);
        assert_eq!(pair.server.answer(asked.token, answer, at, out), Ok(()));
        pair.deliver_to_server(&[]);
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
    }
}

/// Without a share a full handshake is impossible: the client is asked for one.
#[test]
fn a_replayed_lone_identity_without_a_share_is_asked_for_one() {
    let scene = scene_of(Mode::FsKe);
    let mut flight = Flight::new(&scene);
    flight.hello.set(ExtensionType::PSK_KEY_EXCHANGE_MODES, &[1, 0]);
    flight.hello.set(ExtensionType::KEY_SHARE, &[0, 0]);
    let bytes = flight.bytes(&scene);
    let pair = deliver(&scene, &bytes);
    assert_eq!(pair.to_server.early_data, EARLY_DATA);
    let pair = deliver(&scene, &bytes);
    assert_eq!(pair.to_server.error, None);
    assert_eq!(pair.to_server.early_data, b"");
    assert!(pair.server.facts().hello_retry);
}
