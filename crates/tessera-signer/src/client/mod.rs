//! The end that asks.

mod address;
mod counts;
mod key;
mod limits;
mod link;

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, PoisonError, RwLock};

use tessera::crypto::SigningError;
use tessera::handshake::{Checked, Sign};
use tessera::resume::OfferEarlyData;
use tessera::{ClientConfig, Error};
use tessera_tokio::{Answer, Answers, Connector};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tracing::warn;

pub use self::address::{SignerAddress, SignerAddressError};
pub use self::counts::SignerCounts;
pub use self::key::{RemoteKey, RemoteKeyError};
pub use self::limits::SignerLimits;

use self::counts::{Counters, count};
use self::limits::after;
use self::link::{Link, LinkFailure};
use crate::PROTOCOL;
use crate::wire::Refusal;

/// Asks signers, as the [`Answers`] of a server: any number of signatures at a time, over connections that stay open.
///
/// - A signature is asked of the first signer that is connected, then of the next: of all within
///   [`SignerLimits::deadline`]. After that the handshake fails with `internal_error`. Resumptions need no signature.
/// - It fails at once if no signer can answer: all have been unreachable for longer than the deadline.
/// - A signature is verified with the certificate before it is used, so a wrong one goes to no client.
/// - When this value is dropped, its connections end.
pub struct RemoteSigner {
    inner: Arc<Inner>,
    others: Option<Arc<dyn Answers>>,
}

struct Inner {
    /// In the order in which they are asked.
    signers: Vec<Arc<Link>>,
    /// By the end entity's certificate.
    keys: RwLock<HashMap<Vec<u8>, RemoteKey>>,
    limits: SignerLimits,
    counters: Arc<Counters>,
    tasks: Vec<AbortHandle>,
}

/// Makes a configuration for the connector of a [`RemoteSigner`]: it offers only the signer's protocol, and sends no early
/// data. Its credential is this server's for the signer, and its verifier trusts the authority of signers alone.
///
/// # Errors
/// As of [`ClientConfig::checked`].
pub fn client_config(mut config: ClientConfig) -> Result<Checked<ClientConfig>, Error> {
    config.protocols = vec![PROTOCOL.to_vec()];
    config.policy.early_data = OfferEarlyData::default();
    config.checked()
}

impl RemoteSigner {
    /// Starts connecting to these signers, which hold the same keys. The connector's configuration comes from
    /// [`client_config`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with its input, output and time enabled.
    pub fn open(connector: &Connector, signers: Vec<SignerAddress>, limits: SignerLimits) -> Self {
        let counters = Arc::<Counters>::default();
        // So that the first signer leaves time for the others.
        let silence = limits.deadline / u32::try_from(signers.len()).unwrap_or(1).max(1);
        let mut links = Vec::new();
        let mut tasks = Vec::new();
        for address in signers {
            let link = Link::new(address, limits.connections.max(1));
            for at in 0..limits.connections.max(1) {
                let (link, connector) = (link.clone(), connector.clone());
                let counters = counters.clone();
                let keep = async move {
                    link.keep_connected(at, connector, limits, silence, counters).await;
                };
                tasks.push(tokio::spawn(keep).abort_handle());
            }
            links.push(link);
        }
        let keys = RwLock::default();
        let inner = Inner { signers: links, keys, limits, counters, tasks };
        Self { inner: Arc::new(inner), others: None }
    }

    /// Adds a key, after which its credential can be used; a certificate that is known already gets its new name. Add the
    /// key of a renewed certificate before the configuration with it.
    pub fn add(&self, key: &RemoteKey) {
        let mut keys = self.inner.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key.certificate().to_vec(), key.clone());
    }

    /// Passes all other questions to `others`, and signatures with keys that aren't here.
    #[must_use]
    pub fn with_others(mut self, others: Arc<dyn Answers>) -> Self {
        self.others = Some(others);
        self
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> SignerCounts {
        self.inner.counters.now()
    }
}

impl Answers for RemoteSigner {
    fn others(&self) -> Option<&dyn Answers> {
        self.others.as_deref()
    }

    fn sign(&self, question: Sign) -> Answer<Result<Vec<u8>, SigningError>> {
        let keys = self.inner.keys.read().unwrap_or_else(PoisonError::into_inner);
        let key = keys.get(&question.certificate).cloned();
        drop(keys);
        let Some(key) = key else {
            return match self.others() {
                Some(others) => others.sign(question),
                None => Box::pin(ready(Err(SigningError))),
            };
        };
        let inner = self.inner.clone();
        Box::pin(async move {
            count(&inner.counters.asked);
            match inner.sign(&key, &question).await {
                Ok(signature) => {
                    count(&inner.counters.signed);
                    Ok(signature)
                }
                Err(failures) => {
                    count(&inner.counters.failed);
                    warn!(key = key.name(), "a handshake fails without a signature: {failures}");
                    Err(SigningError)
                }
            }
        })
    }
}

impl Inner {
    /// Asks the signers one after the other, those that are connected first.
    async fn sign(&self, key: &RemoteKey, question: &Sign) -> Result<Vec<u8>, Failures> {
        let until = after(Instant::now(), self.limits.deadline);
        let away = |link: &&Arc<Link>| link.is_away_for(self.limits.deadline);
        let mut failures = Failures::default();
        let (gone, mut order): (Vec<_>, Vec<_>) = self.signers.iter().partition(away);
        for link in gone {
            failures.add(link, SigningFailure::Unreachable);
        }
        order.sort_by_key(|link| !link.is_there());
        for (at, link) in order.iter().enumerate() {
            let left = until.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(order.len() - at).unwrap_or(1);
            let failure = match timeout(share, link.sign(key, question)).await {
                Ok(Ok(signature)) if key.verifies(question, &signature) => return Ok(signature),
                Ok(Ok(_)) => {
                    count(&self.counters.wrong);
                    SigningFailure::Wrong
                }
                Ok(Err(LinkFailure::Refused(refusal))) => {
                    count(&self.counters.refused);
                    SigningFailure::Refused(refusal)
                }
                Ok(Err(LinkFailure::Full)) => SigningFailure::Full,
                Ok(Err(LinkFailure::Ended)) => SigningFailure::Ended,
                Err(_) => {
                    count(&self.counters.timed_out);
                    SigningFailure::TimedOut
                }
            };
            failures.add(link, failure);
        }
        Err(failures)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Why one signer gave no signature.
#[derive(Debug, Clone, Copy)]
enum SigningFailure {
    Unreachable,
    TimedOut,
    Ended,
    Full,
    Wrong,
    Refused(Refusal),
}

/// Why there is no signature: each signer's reason.
#[derive(Debug, Default)]
struct Failures(Vec<(String, SigningFailure)>);

impl Failures {
    fn add(&mut self, link: &Link, failure: SigningFailure) {
        self.0.push((link.address().to_owned(), failure));
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no signer is configured");
        }
        for (at, (address, failure)) in self.0.iter().enumerate() {
            let end = if at == 0 { "" } else { "; " };
            write!(f, "{end}signer {address}: ")?;
            match failure {
                SigningFailure::Unreachable => f.write_str("unreachable; check that it runs")?,
                SigningFailure::TimedOut => f.write_str("no answer in time")?,
                SigningFailure::Ended => f.write_str("the connection ended")?,
                SigningFailure::Full => f.write_str("too many requests wait for it")?,
                SigningFailure::Wrong => f.write_str(
                    "its signature is not of this certificate; give it the key of the certificate that is served here",
                )?,
                SigningFailure::Refused(refusal) => write!(f, "refused: {refusal}")?,
            }
        }
        Ok(())
    }
}
