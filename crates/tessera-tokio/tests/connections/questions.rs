//! Questions that are answered later, by another task.

use std::future::pending;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{
    self, EarlyDataReport, connect, destination, ends, finish, forward_secret, settled,
};
use tessera::auth::{
    PeerAcceptance, PeerRejected, PeerVerifier, PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::crypto::{Signer, SigningError};
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply, Sign};
use tessera::resume::{
    AcceptResumption, FlightHandle, OpenTicket, PskKind, PutRefused, PutSecret, Receipt, Receipts,
    ResumptionJudge, ResumptionVerdict, SessionState, SettleReceipt, TakeAnswer, TakePurpose,
    TakeSecret, TicketKeys, Vault,
};
use tessera::wire::SignatureScheme;
use tessera::{Destination, ServerConfig};
use tessera_tokio::{Answer, Answers, MemorySessionStore};
use tokio::io::duplex;

/// Leaves for later what its inner value would answer now.
pub(super) struct Later<T: ?Sized>(pub(super) Arc<T>);

impl ConfigChooser for Later<()> {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Later
    }
}

impl TicketKeys for Later<dyn TicketKeys> {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        self.0.seal(session, unix)
    }
    fn open(&self, _: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Later
    }
}

impl ResumptionJudge for Later<()> {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Later
    }
}

impl Vault for Later<dyn Vault> {
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

impl Receipts for Later<()> {
    fn settle(&self, _: &SettleReceipt) -> Reply<Receipt> {
        Reply::Later
    }
}

impl PeerVerifier for Later<dyn PeerVerifier> {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }
    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }
}

/// Answers in another task, after a while.
struct RemoteAnswers {
    config: Checked<ServerConfig>,
    tickets: Arc<dyn TicketKeys>,
    vault: Arc<dyn Vault>,
    verifier: Arc<dyn PeerVerifier>,
    signer: Arc<dyn Signer>,
}

fn elsewhere<A: Send + 'static>(answer: impl FnOnce() -> A + Send + 'static) -> Answer<A> {
    let task = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer()
    });
    Box::pin(async move { task.await.unwrap() })
}

fn now<A>(reply: Reply<A>) -> A {
    let Reply::Now(answer) = reply else { panic!("the other one answers at once") };
    answer
}

impl Answers for RemoteAnswers {
    fn choose_config(&self, _: ChooseConfig) -> Answer<Result<Checked<ServerConfig>, NoConfig>> {
        let config = self.config.clone();
        elsewhere(move || Ok(config))
    }
    fn open_ticket(&self, question: OpenTicket) -> Answer<Option<SessionState>> {
        let tickets = self.tickets.clone();
        elsewhere(move || now(tickets.open(&question)))
    }
    fn accept_resumption(&self, _: AcceptResumption) -> Answer<ResumptionVerdict> {
        elsewhere(|| ResumptionVerdict::Accept)
    }
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        let vault = self.vault.clone();
        elsewhere(move || now(vault.take(&question)))
    }
    fn settle_receipt(&self, question: SettleReceipt) -> Answer<Receipt> {
        let question = TakeSecret::new(question.handle, TakePurpose::Burn, question.unix);
        let vault = self.vault.clone();
        elsewhere(move || Receipt::of(&now(vault.take(&question)), false))
    }
    fn verify_peer(&self, question: VerifyPeer) -> Answer<Result<PeerAcceptance, PeerRejected>> {
        let verifier = self.verifier.clone();
        elsewhere(move || now(verifier.verify(&question)))
    }
    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        let signer = self.signer.clone();
        elsewhere(move || signer.sign(question.scheme, &question.message))
    }
}

/// Ends that answer nothing themselves, and the implementation that answers for them.
fn all_later() -> (common::Ends, Arc<RemoteAnswers>) {
    let mut ends = forward_secret();
    let tickets = ends.server.tickets.take().unwrap();
    let guard = ends.server.policy.early_data.forward_secret.as_mut().unwrap();
    let vault = guard.vault.clone();
    guard.vault = Arc::new(Later(vault.clone()));
    guard.receipts = Some(Arc::new(Later(Arc::new(()))));
    let verifier = ends.client.verifier.clone();
    ends.client.verifier = Arc::new(Later(verifier.clone()));
    let PrivateKey::Signs(signer) = ends.server.credentials[0].key.clone() else { panic!("here") };
    ends.server.credentials[0].key = PrivateKey::Elsewhere(signer.schemes().to_vec());
    ends.server.tickets = Some(Arc::new(Later(tickets.clone())));
    ends.server.judge = Some(Arc::new(Later(Arc::new(()))));
    let config = ends.server.clone().checked().unwrap();
    ends.server.chooser = Some(Arc::new(Later(Arc::new(()))));
    let answers = RemoteAnswers { config, tickets, vault, verifier, signer };
    (ends, Arc::new(answers))
}

#[tokio::test]
async fn every_question_is_answered_by_another_task() {
    let (ends, answers) = all_later();
    let connector = ends
        .connector()
        .with_answers(answers.clone())
        .with_sessions(Arc::new(MemorySessionStore::default()));
    let acceptor = ends.acceptor().with_answers(answers);
    let (mut client, mut server) = connect(&connector, &acceptor).await;
    assert_eq!(client.facts().psk, None);
    finish(&mut client, &mut server).await;

    let (near, far) = duplex(64 * 1024);
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, b"early"),
        acceptor.accept(far)
    );
    let (client, early_data) = settled(client);
    assert_eq!(early_data, EarlyDataReport::Accepted(5));
    assert_eq!(client.facts().psk, Some(PskKind::ForwardSecret));
    server.unwrap();

    // The outcome of that flight, asked in a later connection.
    let flight = client.facts().flight.unwrap();
    let (near, far) = duplex(64 * 1024);
    let destination = Destination { ask_receipts: vec![flight], ..destination() };
    let (client, server) = tokio::join!(connector.connect(destination, near), acceptor.accept(far));
    assert_eq!(client.unwrap().facts().receipts, [(flight, Receipt::TakenNotDone)]);
    server.unwrap();
}

#[tokio::test]
async fn a_question_whose_answerer_is_gone_is_answered_with_no() {
    let (ends, _) = all_later();
    let (near, far) = duplex(64 * 1024);
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let (client, server) =
        tokio::join!(connector.connect(destination(), near), acceptor.accept(far));
    assert!(client.is_err() && server.is_err());
}

/// Answers nothing, ever.
struct SilentAnswers;

impl Answers for SilentAnswers {
    fn sign(&self, _: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_with_the_handshake_timeout() {
    let mut ends = ends();
    ends.server.credentials[0].key =
        PrivateKey::Elsewhere(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
    let (near, far) = duplex(64 * 1024);
    let connector = ends.connector();
    let acceptor = ends.acceptor().with_answers(Arc::new(SilentAnswers));
    let (client, server) =
        tokio::join!(connector.connect(destination(), near), acceptor.accept(far));
    assert_eq!(client.err().unwrap().kind(), ErrorKind::TimedOut);
    assert_eq!(server.err().unwrap().kind(), ErrorKind::TimedOut);
}

/// Signs after a while.
struct SlowSigner(Arc<dyn Signer>);

impl Answers for SlowSigner {
    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        let signature = self.0.sign(question.scheme, &question.message);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            signature
        })
    }
}

/// An answer that arrived in time counts, even if its task is polled late.
#[tokio::test(start_paused = true)]
async fn a_task_that_is_polled_late_takes_an_existing_answer() {
    let mut ends = ends();
    let schemes = vec![SignatureScheme::ECDSA_SECP256R1_SHA256];
    let key =
        std::mem::replace(&mut ends.server.credentials[0].key, PrivateKey::Elsewhere(schemes));
    let PrivateKey::Signs(signer) = key else { panic!("the key is here") };
    let (near, far) = duplex(64 * 1024);
    ends.client.handshake_timeout = Duration::from_secs(60);
    let mut client = ends.connector().start(destination(), near).await.unwrap();
    let acceptor = ends.acceptor().with_answers(Arc::new(SlowSigner(signer)));
    let mut server = acceptor.start(far).unwrap();
    tokio::select! {
        biased;
        done = async { tokio::join!(client.handshake(), server.handshake()) } => panic!("{done:?}"),
        () = async {} => (),
    }
    tokio::time::advance(ends.server.handshake_timeout + Duration::from_secs(1)).await;
    // The flight leaves with the answer, too late for the client's Finished.
    let error = server.handshake().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    client.handshake().await.unwrap();
}
