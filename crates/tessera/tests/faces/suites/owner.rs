//! An owner whose configuration leaves every question for later, and its answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{
    AskedKey, Credential, Decapsulate, PeerAcceptance, PeerRejected, PeerVerifier, PrivateKey,
    Proof, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{AgreementError, Decapsulator, SharedSecret, Signer, SigningError};
use tessera::handshake::{
    Checked, ChooseConfig, ClientAuthentication, ClientQuestion, ConfigChooser, NoConfig, Reply,
    ServerQuestion, Sign,
};
use tessera::resume::{
    AcceptResumption, FlightHandle, OpenTicket, PskKind, PutRefused, PutSecret, Receipt, Receipts,
    ResumptionJudge, ResumptionVerdict, SessionState, SettleReceipt, TakeAnswer, TakeSecret,
    TicketKeys, Vault,
};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Error, Role, ServerConfig};
use tessera_harness::{
    Mode, OneVault, Pair, Scene, UnsealedTickets, at, credential, kem_credential,
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
pub(super) fn asking(mode: Mode) -> (Scene, Checked<ServerConfig>) {
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
    pub(super) no_config: bool,
    pub(super) no_ticket: bool,
    pub(super) judges: Option<ResumptionVerdict>,
    pub(super) vault_is_away: bool,
    pub(super) rejects_client: bool,
    pub(super) rejects_server: bool,
    pub(super) server_does_not_sign: bool,
    pub(super) client_does_not_sign: bool,
}

pub(super) fn rejected() -> PeerRejected {
    PeerRejected { alert: AlertDescription::UNKNOWN_CA, reason: "as configured".into() }
}

impl Owner {
    pub(super) fn answer_server(
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
    pub(super) fn connect(
        self,
        mode: Mode,
    ) -> (BTreeSet<&'static str>, Option<Error>, Pair, Scene) {
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
