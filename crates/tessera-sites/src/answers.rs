//! What a server of a site leaves for later, answered.

use std::sync::Arc;
use std::time::Duration;

use tessera::ServerConfig;
use tessera::auth::{PeerAcceptance, PeerRejected, VerifyPeer};
use tessera::crypto::SigningError;
use tessera::handshake::{Checked, ChooseConfig, NoConfig, Sign};
use tessera::resume::{
    AcceptResumption, OpenTicket, Receipt, ResumptionVerdict, SessionState, SettleReceipt,
    TakeSecret, Taken,
};
use tessera_tokio::{Answer, Answers};
use tessera_vault::SiteVault;
use tokio::time::timeout;

/// The [`Answers`] of a server whose vault is a [`SiteVault`]: asks the home of a flight, for so long and
/// no longer.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tessera_sites::SiteAnswers;
/// use tessera_tokio::Acceptor;
/// use tessera_vault::SiteVault;
///
/// fn at_this_site(acceptor: Acceptor, site: Arc<SiteVault>) -> Acceptor {
///     acceptor.with_answers(Arc::new(SiteAnswers::new(site, Duration::from_secs(2))))
/// }
/// ```
pub struct SiteAnswers {
    site: Arc<SiteVault>,
    patience: Duration,
    others: Option<Arc<dyn Answers>>,
}

impl SiteAnswers {
    /// Asks other sites and waits for `patience`, which must end before the client's handshake does.
    /// Afterwards the client hears `unknown`.
    pub fn new(site: Arc<SiteVault>, patience: Duration) -> Self {
        Self { site, patience, others: None }
    }

    /// Leaves all other questions to these: those of a home vault that answers later, such as
    /// `EtcdVault`, or of a signer.
    #[must_use]
    pub fn with_others(mut self, others: Arc<dyn Answers>) -> Self {
        self.others = Some(others);
        self
    }

    fn others(&self) -> &dyn Answers {
        self.others.as_deref().unwrap_or(&Nobody)
    }
}

/// Refuses everything.
struct Nobody;

impl Answers for Nobody {}

impl Answers for SiteAnswers {
    fn take_secret(&self, question: TakeSecret) -> Answer<Taken> {
        if self.site.is_home(&question) {
            return self.others().take_secret(question);
        }
        let answer = self.site.take_from_afar(&question);
        let patience = self.patience;
        Box::pin(async move { timeout(patience, answer).await.unwrap_or(Taken::Unavailable) })
    }

    fn choose_config(
        &self,
        question: ChooseConfig,
    ) -> Answer<Result<Checked<ServerConfig>, NoConfig>> {
        self.others().choose_config(question)
    }

    fn open_ticket(&self, question: OpenTicket) -> Answer<Option<SessionState>> {
        self.others().open_ticket(question)
    }

    fn accept_resumption(&self, question: AcceptResumption) -> Answer<ResumptionVerdict> {
        self.others().accept_resumption(question)
    }

    fn settle_receipt(&self, question: SettleReceipt) -> Answer<Receipt> {
        self.others().settle_receipt(question)
    }

    fn verify_peer(&self, question: VerifyPeer) -> Answer<Result<PeerAcceptance, PeerRejected>> {
        self.others().verify_peer(question)
    }

    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        self.others().sign(question)
    }
}
