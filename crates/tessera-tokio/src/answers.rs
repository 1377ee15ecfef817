//! Questions that take time, answered asynchronously.

use std::future::{Future, ready};
use std::pin::Pin;

use tessera::ServerConfig;
use tessera::auth::{PeerAcceptance, PeerRejected, VerifyPeer};
use tessera::crypto::{AgreementError, SharedSecret, SigningError};
use tessera::handshake::{Checked, ChooseConfig, Decapsulate, NoConfig, Sign};
use tessera::resume::{
    AcceptResumption, OpenTicket, Receipt, ResumptionVerdict, SessionState, SettleReceipt,
    TakeAnswer, TakeSecret,
};
use tessera::wire::AlertDescription;

/// The future of an answer.
///
/// It belongs to its connection: it is dropped if the connection is dropped or its handshake takes too long.
/// Work that must finish in any case belongs in a task.
pub type Answer<A> = Pin<Box<dyn Future<Output = A> + Send>>;

/// Answers what a configuration leaves for later ([`Reply::Later`](tessera::handshake::Reply)): a key in
/// another machine, a vault across the network, a certificate to be looked up.
///
/// A client only uses [`verify_peer`](Self::verify_peer) and [`sign`](Self::sign). Methods that are not
/// overridden defer to [`others`](Self::others); without others they refuse.
///
/// ```
/// use std::sync::Arc;
/// use tessera::crypto::{Signer, SigningError};
/// use tessera::handshake::Sign;
/// use tessera_tokio::{Answer, Answers};
///
/// /// Signs where it keeps no other connection waiting.
/// struct OnAnotherThread(Arc<dyn Signer>);
///
/// impl Answers for OnAnotherThread {
///     fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
///         let signer = self.0.clone();
///         Box::pin(async move {
///             let sign = move || signer.sign(question.scheme, &question.message);
///             tokio::task::spawn_blocking(sign).await.unwrap_or(Err(SigningError))
///         })
///     }
/// }
/// ```
pub trait Answers: Send + Sync {
    /// Returns the implementation for questions that this one doesn't answer. Default: none.
    fn others(&self) -> Option<&dyn Answers> {
        None
    }

    /// Chooses the configuration for this client.
    fn choose_config(
        &self,
        question: ChooseConfig,
    ) -> Answer<Result<Checked<ServerConfig>, NoConfig>> {
        match self.others() {
            Some(others) => others.choose_config(question),
            None => Box::pin(ready(Err(NoConfig))),
        }
    }

    /// Resolves a PSK identity to its session.
    fn open_ticket(&self, question: OpenTicket) -> Answer<Option<SessionState>> {
        match self.others() {
            Some(others) => others.open_ticket(question),
            None => Box::pin(ready(None)),
        }
    }

    /// Decides whether the session may be resumed.
    fn accept_resumption(&self, question: AcceptResumption) -> Answer<ResumptionVerdict> {
        match self.others() {
            Some(others) => others.accept_resumption(question),
            None => Box::pin(ready(ResumptionVerdict::Refuse)),
        }
    }

    /// Takes the one-time secret.
    ///
    /// The vault deletes what it returns. If the connection ends before the answer arrives, the secret is
    /// gone and the client pays a round trip: that is the safe side.
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        match self.others() {
            Some(others) => others.take_secret(question),
            None => Box::pin(ready(TakeAnswer::Unavailable)),
        }
    }

    /// Reports what became of a flight.
    fn settle_receipt(&self, question: SettleReceipt) -> Answer<Receipt> {
        match self.others() {
            Some(others) => others.settle_receipt(question),
            None => Box::pin(ready(Receipt::Unknown)),
        }
    }

    /// Verifies the peer's identity.
    fn verify_peer(&self, question: VerifyPeer) -> Answer<Result<PeerAcceptance, PeerRejected>> {
        match self.others() {
            Some(others) => others.verify_peer(question),
            None => Box::pin(ready(Err(PeerRejected {
                alert: AlertDescription::INTERNAL_ERROR,
                reason: "no answerer is set for the verifier's question".into(),
            }))),
        }
    }

    /// Signs with the private key of this side's certificate.
    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        match self.others() {
            Some(others) => others.sign(question),
            None => Box::pin(ready(Err(SigningError))),
        }
    }

    /// Decapsulates with the private key of this side's certificate.
    fn decapsulate(&self, question: Decapsulate) -> Answer<Result<SharedSecret, AgreementError>> {
        match self.others() {
            Some(others) => others.decapsulate(question),
            None => Box::pin(ready(Err(AgreementError::Provider))),
        }
    }
}

/// Refuses every question: for configurations that leave nothing for later.
pub(crate) struct NoAnswers;

impl Answers for NoAnswers {}

#[cfg(test)]
mod tests {
    use tessera::resume::{Absence, FlightHandle, TakePurpose};

    use super::*;

    struct Vault;

    impl Answers for Vault {
        fn take_secret(&self, _: TakeSecret) -> Answer<TakeAnswer> {
            Box::pin(ready(TakeAnswer::Absent(Absence::Used)))
        }
    }

    struct VaultAnswers(Option<Vault>);

    impl Answers for VaultAnswers {
        fn others(&self) -> Option<&dyn Answers> {
            self.0.as_ref().map(|vault| vault as &dyn Answers)
        }

        fn accept_resumption(&self, _: AcceptResumption) -> Answer<ResumptionVerdict> {
            Box::pin(ready(ResumptionVerdict::Accept))
        }
    }

    #[tokio::test]
    async fn an_unanswered_question_goes_to_the_others_and_is_refused_without_any() {
        let question = || TakeSecret::new(FlightHandle([7; 32]), TakePurpose::Burn, None);
        let taken = VaultAnswers(Some(Vault)).take_secret(question()).await;
        assert!(matches!(taken, TakeAnswer::Absent(Absence::Used)));
        assert!(matches!(
            VaultAnswers(None).take_secret(question()).await,
            TakeAnswer::Unavailable
        ));
    }
}
