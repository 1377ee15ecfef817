//! What a server of a site leaves for later, answered.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use tessera::resume::{TakeSecret, Taken};
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
}

impl Answers for SiteAnswers {
    fn others(&self) -> Option<&dyn Answers> {
        self.others.as_deref()
    }

    fn take_secret(&self, question: TakeSecret) -> Answer<Taken> {
        if self.site.is_home(&question) {
            return match self.others() {
                Some(others) => others.take_secret(question),
                None => Box::pin(ready(Taken::Unavailable)),
            };
        }
        let answer = self.site.take_from_afar(&question);
        let patience = self.patience;
        Box::pin(async move { timeout(patience, answer).await.unwrap_or(Taken::Unavailable) })
    }
}
