//! Answers a server's questions by asking other sites.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{TakeAnswer, TakeSecret, Vault};
use tessera_tokio::{Answer, Answers};
use tessera_vault::SiteVault;
use tokio::time::timeout;

/// The [`Answers`] of a server whose vault is a [`SiteVault`]: asks the home site of a flight, for a limited time.
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

/// How long a flight waits for a secret that moves here: it is sent as soon as the client is.
const ARRIVAL: Duration = Duration::from_millis(200);

impl SiteAnswers {
    /// Creates answers that wait for other sites for `patience`, which must be shorter than what is left of the
    /// client's handshake timeout.
    ///
    /// Afterwards the client receives `unknown`.
    pub fn new(site: Arc<SiteVault>, patience: Duration) -> Self {
        Self { site, patience, others: None }
    }

    /// Passes all other questions to `others`: those of a home vault that answers later, such as `EtcdVault`, or of a
    /// signer.
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

    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        if self.site.is_home(&question) {
            // It has just come back.
            if let Reply::Now(answer) = self.site.take(&question) {
                return Box::pin(ready(answer));
            }
            return match self.others() {
                Some(others) => others.take_secret(question),
                None => Box::pin(ready(TakeAnswer::Unavailable)),
            };
        }
        let (site, patience) = (self.site.clone(), self.patience);
        Box::pin(async move {
            let answer = async {
                if site.may_arrive(&question)
                    && timeout(ARRIVAL, site.arrival(&question)).await.is_ok()
                    && let Reply::Now(answer) = site.take(&question)
                {
                    return answer;
                }
                site.take_from_afar(&question).await
            };
            timeout(patience, answer).await.unwrap_or(TakeAnswer::Unavailable)
        })
    }
}
