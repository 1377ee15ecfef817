//! Questions answered later, in both roles; wrong answers; and what happens to input and time while
//! a question is open.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{
    AskedKey, Credential, Decapsulate, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier,
    PrivateKey, Proof, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret, Signer, SigningError};
use tessera::handshake::{
    Checked, ChooseConfig, ClientAuthentication, ClientQuestion, ConfigChooser, NoConfig, Reply,
    ServerQuestion, Sign,
};
use tessera::resume::{
    AcceptResumption, FlightHandle, OpenTicket, PskKind, PutRefused, PutSecret, Receipt, Receipts,
    ResumptionJudge, ResumptionVerdict, SessionState, SettleReceipt, TakeAnswer, TakeSecret,
    TicketKeys, Vault, Verdict,
};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Destination, Error, Role, ServerConfig};
use tessera_harness::{
    EARLY_DATA, Mode, OneVault, Pair, Scene, UnsealedTickets, at, credential, kem_credential, to,
};
use tessera_null_provider::{NullDecapsulator, NullKemVerifier, NullSigner, NullVerifier};

use super::FACE;

/// Answers everything later.
struct Later(Arc<OneVault>);

impl ConfigChooser for Later {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Later
    }
}

impl TicketKeys for Later {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        UnsealedTickets.seal(session, unix)
    }

    fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Later
    }
}

impl ResumptionJudge for Later {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
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

impl Receipts for Later {
    fn settle(&self, _: &SettleReceipt) -> Reply<Receipt> {
        Reply::Later
    }
}

/// Judges later what this verifier would judge.
struct JudgesLater(&'static dyn PeerVerifier);

impl PeerVerifier for JudgesLater {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.0.kem_scheme(asked)
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }
}

fn elsewhere(mode: Mode) -> Credential {
    if mode.is_kem() {
        let key = PrivateKey::Elsewhere(vec![*NullDecapsulator.scheme()]);
        return Credential { key, ..kem_credential() };
    }
    let key = PrivateKey::Elsewhere(NullSigner.schemes().to_vec());
    Credential { key, ..credential() }
}

/// Judges for an owner.
fn judged(question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
    now(match question.proof {
        Proof::Kem { .. } => NullKemVerifier.verify(question),
        _ => NullVerifier.verify(question),
    })
}

/// Decapsulates for an owner, or not.
fn decapsulated(question: &Decapsulate, refuses: bool) -> Result<SharedSecret, AgreementError> {
    assert_eq!(question.certificate, kem_credential().chain[0]);
    match refuses {
        true => Err(AgreementError::Provider),
        false => NullDecapsulator.decapsulate(&question.encapsulation),
    }
}

/// A certificate whose key can't be checked here.
fn unfitting() -> Credential {
    let key = PrivateKey::Elsewhere(vec![SignatureScheme(0xfe00)]);
    Credential::new(vec![vec![0x31; 200]], key)
}

/// An owner with several keys elsewhere learns which one is to sign.
fn assert_names_key(question: &Sign) {
    assert_eq!(question.certificate, credential().chain[0]);
}

/// A scene that asks everything, and the configuration that the chooser returns.
fn asking(mode: Mode) -> (Scene, Checked<ServerConfig>) {
    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), mode);
    let later = Arc::new(Later(scene.vault.clone()));
    let judge = Arc::new(match mode.is_kem() {
        true => JudgesLater(&NullKemVerifier),
        false => JudgesLater(&NullVerifier),
    });
    scene.client.verifier = judge.clone();
    if mode.is_mutual() {
        scene.client.credentials = vec![unfitting(), elsewhere(mode)];
        scene.server.client_authentication = ClientAuthentication::Required(judge);
    }
    scene.server.credentials = vec![unfitting(), elsewhere(mode)];
    scene.server.tickets = Some(later.clone());
    scene.server.judge = Some(later.clone());
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = later.clone();
        guard.receipts = Some(later.clone());
    }
    let chosen = scene.server.clone().checked().expect("works");
    scene.server.chooser = Some(later);
    (scene, chosen)
}

fn now<A>(reply: Reply<A>) -> A {
    match reply {
        Reply::Now(answer) => answer,
        Reply::Later => unreachable!("answers at once"),
    }
}

/// The owner's answers; each field refuses one thing.
#[derive(Default, Clone, Copy)]
pub(crate) struct Owner {
    no_config: bool,
    no_ticket: bool,
    judges: Option<ResumptionVerdict>,
    vault_is_away: bool,
    rejects_client: bool,
    rejects_server: bool,
    server_does_not_sign: bool,
    client_does_not_sign: bool,
}

fn rejected() -> PeerRejected {
    PeerRejected { alert: AlertDescription::UNKNOWN_CA, reason: "as configured".into() }
}

impl Owner {
    fn answer_server(
        self,
        pair: &mut Pair,
        question: ServerQuestion,
        scene: &Scene,
        chosen: &Checked<ServerConfig>,
    ) -> (&'static str, Result<(), Error>) {
        let (server, time, out) = (&mut pair.server, pair.now, &mut pair.server_output);
        match question {
            ServerQuestion::ChooseConfig(asked) => {
                let answer = if self.no_config { Err(NoConfig) } else { Ok(chosen.clone()) };
                ("choose", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::OpenTicket(asked) => {
                let opened = now(UnsealedTickets.open(&asked.question));
                let answer = opened.filter(|_| !self.no_ticket);
                ("open", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::AcceptResumption(asked) => {
                assert_eq!(asked.question.kind, PskKind::Resumption);
                let answer = self.judges.unwrap_or(ResumptionVerdict::Accept);
                ("judge", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::SettleReceipt(asked) => {
                ("receipt", server.answer(asked.token, Receipt::TakenNotDone, time, out))
            }
            ServerQuestion::TakeSecret(asked) => {
                let answer = match self.vault_is_away {
                    true => TakeAnswer::Unavailable,
                    false => now(scene.vault.take(&asked.question)),
                };
                ("take", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::VerifyPeer(asked) => {
                assert!(
                    asked.question.peer == Role::Client && asked.question.server_name.is_none()
                );
                let answer = match self.rejects_client {
                    true => Err(rejected()),
                    false => judged(&asked.question),
                };
                ("verify client", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::Sign(asked) => {
                assert_names_key(&asked.question);
                let signed = NullSigner.sign(asked.question.scheme, &asked.question.message);
                let answer = if self.server_does_not_sign { Err(SigningError) } else { signed };
                ("server signs", server.answer(asked.token, answer, time, out))
            }
            ServerQuestion::Decapsulate(asked) => {
                let answer = decapsulated(&asked.question, self.server_does_not_sign);
                ("server decapsulates", server.answer(asked.token, answer, time, out))
            }
            _ => ("not known here", Ok(())),
        }
    }

    fn answer_client(
        self,
        pair: &mut Pair,
        question: ClientQuestion,
    ) -> (&'static str, Result<(), Error>) {
        let (client, time, out) = (&mut pair.client, pair.now, &mut pair.client_output);
        match question {
            ClientQuestion::VerifyPeer(asked) => {
                assert!(
                    asked.question.peer == Role::Server && asked.question.server_name.is_some()
                );
                let answer = match self.rejects_server {
                    true => Err(rejected()),
                    false => judged(&asked.question),
                };
                ("verify server", client.answer(asked.token, answer, time, out))
            }
            ClientQuestion::Sign(asked) => {
                assert_names_key(&asked.question);
                let signed = NullSigner.sign(asked.question.scheme, &asked.question.message);
                let answer = if self.client_does_not_sign { Err(SigningError) } else { signed };
                ("client signs", client.answer(asked.token, answer, time, out))
            }
            ClientQuestion::Decapsulate(asked) => {
                let answer = decapsulated(&asked.question, self.client_does_not_sign);
                ("client decapsulates", client.answer(asked.token, answer, time, out))
            }
            _ => ("not known here", Ok(())),
        }
    }

    /// Runs a pair, answering every question; returns what was asked, and the first error of an answer.
    pub(crate) fn run(
        self,
        pair: &mut Pair,
        scene: &Scene,
        chosen: &Checked<ServerConfig>,
    ) -> (BTreeSet<&'static str>, Option<Error>) {
        let mut asked = BTreeSet::new();
        loop {
            pair.run();
            let (name, answered) = if let Some(question) = pair.server_questions.pop() {
                self.answer_server(pair, question, scene, chosen)
            } else if let Some(question) = pair.client_questions.pop() {
                self.answer_client(pair, question)
            } else {
                return (asked, None);
            };
            asked.insert(name);
            if let Err(error) = answered {
                pair.run();
                return (asked, Some(error));
            }
            // The input that waited for the answer is read now.
            pair.deliver_to_server(&[]);
            pair.deliver_to_client(&[]);
        }
    }

    /// Makes a first connection if the mode needs one, and then the mode's own.
    fn connect(self, mode: Mode) -> (BTreeSet<&'static str>, Option<Error>, Pair, Scene) {
        let (scene, chosen) = asking(mode);
        let session = mode.resumes().then(|| {
            let mut pair = scene.start(None, at(0));
            assert_eq!(Owner::default().run(&mut pair, &scene, &chosen).1, None);
            pair.to_client.sessions.pop().expect("a session")
        });
        let mut pair = scene.start(session, at(0));
        let (asked, error) = self.run(&mut pair, &scene, &chosen);
        (asked, error, pair, scene)
    }
}

#[test]
fn handshakes_of_every_mode_complete_when_every_answer_comes_later() {
    for mode in Mode::ALL {
        let (asked, error, pair, _) = Owner::default().connect(mode);
        assert_eq!(error, None, "{mode:?}");
        assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
        let expected: &[&str] = match mode {
            Mode::Full | Mode::Retry => &["choose", "server signs", "verify server"],
            Mode::Mutual => {
                &["choose", "server signs", "verify server", "client signs", "verify client"]
            }
            Mode::Kem => &["choose", "server decapsulates", "verify server"],
            Mode::KemMutual => &[
                "choose",
                "server decapsulates",
                "verify server",
                "client decapsulates",
                "verify client",
            ],
            Mode::PskDhe | Mode::PskOnly | Mode::Replayable => &["choose", "open", "judge"],
            Mode::FsDhe | Mode::FsKe | Mode::FsPsk => &["choose", "open", "judge", "take"],
        };
        assert_eq!(asked, expected.iter().copied().collect(), "{mode:?}");
        let early = matches!(mode, Mode::Replayable | Mode::FsDhe | Mode::FsKe | Mode::FsPsk);
        assert_eq!(pair.to_server.early_data, if early { EARLY_DATA } else { b"" });
    }
}

#[test]
fn receipts_may_be_answered_later() {
    let (scene, chosen) = asking(Mode::FsDhe);
    let flights = [1, 2, 3].map(|number| FlightHandle([number; 32]));
    let mut first = scene.start(None, at(0));
    assert_eq!(Owner::default().run(&mut first, &scene, &chosen).1, None);
    let session = first.to_client.sessions.pop();
    let destination = Destination { ask_receipts: flights.to_vec(), ..to(session) };
    let mut pair = scene.start_to(destination, at(0));
    let (asked, error) = Owner::default().run(&mut pair, &scene, &chosen);
    assert_eq!(error, None);
    assert!(asked.contains("receipt"));
    let expected = flights.map(|flight| (flight, Receipt::TakenNotDone));
    assert_eq!(pair.client.facts().receipts, expected);
}

#[test]
fn refused_tickets_cost_a_round_trip_and_not_the_connection() {
    let owners = [
        Owner { no_ticket: true, ..Owner::default() },
        Owner { judges: Some(ResumptionVerdict::Refuse), ..Owner::default() },
    ];
    for owner in owners {
        for mode in
            [Mode::PskDhe, Mode::PskOnly, Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk]
        {
            let (_, error, pair, scene) = owner.connect(mode);
            assert_eq!(error, None);
            assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
            assert_eq!(pair.client.facts().psk, None);
            assert_eq!(pair.to_server.early_data, b"");
            // Two keys of the first connection, one of them burned when its ticket was opened, and two of this one.
            let (verdict, keys) = match (mode, owner.no_ticket) {
                (Mode::PskDhe | Mode::PskOnly, _) => (None, 0),
                (Mode::Replayable, _) => (Some(Verdict::Unknown), 0),
                (_, true) => (Some(Verdict::Unknown), 4),
                (_, false) => (Some(Verdict::Burned), 3),
            };
            assert_eq!((pair.to_client.verdict, scene.vault.len()), (verdict, keys), "{mode:?}");
        }
    }
    let owner = Owner { vault_is_away: true, ..Owner::default() };
    let (_, error, pair, _) = owner.connect(Mode::FsDhe);
    assert_eq!(error, None);
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
    let judges = Some(ResumptionVerdict::AcceptWithoutEarlyData);
    let (_, error, pair, _) = Owner { judges, ..Owner::default() }.connect(Mode::FsKe);
    assert_eq!(error, None);
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
}

#[test]
fn a_refused_peer_or_name_ends_the_handshake_with_its_alert() {
    let unknown_ca = Error::PeerRejected(rejected());
    let cases = [
        (Owner { no_config: true, ..Owner::default() }, AlertDescription::UNRECOGNIZED_NAME),
        (Owner { rejects_client: true, ..Owner::default() }, AlertDescription::UNKNOWN_CA),
        (Owner { rejects_server: true, ..Owner::default() }, AlertDescription::UNKNOWN_CA),
        (
            Owner { server_does_not_sign: true, ..Owner::default() },
            AlertDescription::INTERNAL_ERROR,
        ),
        (
            Owner { client_does_not_sign: true, ..Owner::default() },
            AlertDescription::INTERNAL_ERROR,
        ),
    ];
    let modes = [Mode::Mutual, Mode::KemMutual];
    for ((owner, alert), mode) in cases.into_iter().flat_map(|case| modes.map(|mode| (case, mode)))
    {
        let (asked, error, pair, _) = owner.connect(mode);
        let error = error.expect("an error");
        assert_eq!(error.alert(), Some(alert), "{asked:?}");
        assert_eq!(error == unknown_ca, owner.rejects_client || owner.rejects_server);
        // The other end gets the alert, unless it awaits one under keys that only a server that decapsulates has.
        let told = Some(Error::AlertReceived(alert));
        let is_told = pair.to_client.error == told || pair.to_server.error == told;
        assert!(is_told || mode.is_kem() && owner.server_does_not_sign, "{asked:?}");
        assert!(!pair.to_server.complete);
    }
}

/// A server that waits for its configuration, with more input after the question.
pub(crate) fn waiting() -> (Pair, Scene, Checked<ServerConfig>) {
    let (scene, chosen) = asking(Mode::FsDhe);
    let mut pair = scene.start(None, at(0));
    Owner::default().run(&mut pair, &scene, &chosen);
    let mut pair = scene.start(pair.to_client.sessions.pop(), at(0));
    pair.client_to_server();
    assert_eq!(pair.server_questions.len(), 1);
    (pair, scene, chosen)
}

#[test]
fn an_answer_to_another_connections_question_is_refused_and_harmless() {
    // A token of another connection's question.
    let (signing, chosen) = asking(Mode::Full);
    let mut other = signing.start(None, at(0));
    other.run();
    let Some(question) = other.server_questions.pop() else { panic!("a question") };
    let owner = Owner::default();
    assert_eq!(owner.answer_server(&mut other, question, &signing, &chosen).1, Ok(()));
    other.deliver_to_server(&[]);
    let Some(ServerQuestion::Sign(asked)) = other.server_questions.pop() else {
        panic!("the server signs")
    };

    let (mut pair, scene, chosen) = waiting();
    let now = pair.now;
    let refused = pair.server.answer(asked.token, Err(SigningError), now, &mut pair.server_output);
    assert_eq!(refused, Err(Error::WrongAnswer));
    assert!(pair.server_output.is_empty());
    let (_, error) = owner.run(&mut pair, &scene, &chosen);
    assert_eq!(error, None);
    assert!(pair.to_client.complete && pair.to_server.complete);
}

#[test]
fn an_answer_to_no_question_is_refused_and_harmless() {
    let (mut pair, _, chosen) = waiting();
    let Some(ServerQuestion::ChooseConfig(asked)) = pair.server_questions.pop() else {
        panic!("the configuration")
    };
    let mut unasked = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full).pair();
    let (now, out) = (unasked.now, &mut unasked.server_output);
    let refused = unasked.server.answer(asked.token, Ok(chosen), now, out);
    assert_eq!(refused, Err(Error::WrongAnswer));
    unasked.run();
    assert!(unasked.to_server.complete);
}

#[test]
fn a_peer_identity_that_fits_no_ticket_is_refused() {
    let (scene, chosen) = asking(Mode::Full);
    let mut pair = scene.start(None, at(0));
    let owner = Owner::default();
    while pair.client_questions.is_empty() {
        pair.run();
        if let Some(question) = pair.server_questions.pop() {
            assert_eq!(owner.answer_server(&mut pair, question, &scene, &chosen).1, Ok(()));
            pair.deliver_to_server(&[]);
        }
    }
    let Some(ClientQuestion::VerifyPeer(asked)) = pair.client_questions.pop() else {
        panic!("the server's certificate")
    };
    let identity = PeerIdentity { blob: vec![0; PeerIdentity::MAX_LEN + 1], expires_at: None };
    let (now, out) = (pair.now, &mut pair.client_output);
    let error = pair.client.answer(asked.token, Ok(identity.into()), now, out);
    assert!(matches!(error, Err(Error::Configuration(_))));
}
