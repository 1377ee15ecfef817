//! The client side of the channel.

mod connection;
mod requests;

use std::collections::HashMap;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use tessera_tokio::Connector;
use tessera_vault::{
    Acknowledgement, BurnAtHome, BurnMoved, CarryAnswer, HomeAnswer, LifeAnswer, MovedSecret,
    SiteChannel,
};
use tokio::task::AbortHandle;

use crate::counts::{ChannelCounters, ChannelCounts, count};
use crate::limits::ChannelLimits;
use crate::wire::{Answer, Request};
use requests::Requests;

/// Another site, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSite {
    /// The name of its vault: `Incarnation::vault`, as `SiteVault::incarnation` returns it there.
    pub vault: [u8; 16],
    /// Its address, such as `site-b.example:8444`. A name is resolved for each new connection.
    pub address: String,
    /// The name that its certificate must have. Any other holder of such a certificate can make clients repeat what was
    /// executed.
    pub server_name: String,
}

/// The channel to other sites, over TLS: one persistent connection to each, opened at once, used for all requests, and
/// reopened when it ends.
///
/// - A request fails after [`ChannelLimits::deadline`]. It fails at once for an unknown vault, for a site that has been
///   unreachable for as long, and if too many requests are in progress.
/// - A connection that ends fails no request: those with time left are sent again on the next one. A request that
///   arrives twice does no harm.
/// - Early data is never used. Connections are rare, and no request waits for one; in early data the names of flights
///   would be only as secret as the ticket's key.
/// - A secret that moves stays here until the other site has answered, so that it can be sent again; then it is wiped.
/// - A dropped request leaves nothing behind. When this value is dropped, its connections end, and all waiting requests
///   fail.
pub struct TlsSiteChannel {
    sites: HashMap<[u8; 16], Arc<Requests>>,
    tasks: Vec<AbortHandle>,
    counters: Arc<ChannelCounters>,
}

impl TlsSiteChannel {
    /// Starts connecting to these sites.
    ///
    /// The connector's configuration comes from [`client_config`](crate::client_config), with a certificate that the
    /// other sites know; with a dedicated session store it resumes.
    ///
    /// # Panics
    /// Outside of a tokio runtime with its input, output and time enabled.
    pub fn open(connector: &Connector, sites: Vec<OtherSite>, limits: ChannelLimits) -> Self {
        let counters = Arc::<ChannelCounters>::default();
        let mut requests_of = HashMap::new();
        let mut tasks = Vec::new();
        for site in sites {
            let requests = Arc::new(Requests::new(limits, counters.clone()));
            let way = connection::Way { connector: connector.clone(), site, limits };
            requests_of.insert(way.site.vault, requests.clone());
            tasks.push(tokio::spawn(way.keep_connected(requests)).abort_handle());
        }
        Self { sites: requests_of, tasks, counters }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> ChannelCounts {
        self.counters.now()
    }
}

impl Drop for TlsSiteChannel {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        self.sites.values().for_each(|requests| requests.end());
    }
}

impl SiteChannel for TlsSiteChannel {
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer {
        let burn = *request;
        let answer = self.request(&burn.home.vault, |id| Request::Burn { id, burn });
        Box::pin(async { answer.await.and_then(acknowledgement) })
    }

    fn burn_moved(&self, question: &BurnMoved) -> HomeAnswer {
        let question = *question;
        let to = &question.departure.to.vault;
        let answer = self.request(to, |id| Request::BurnMoved { id, question });
        Box::pin(async { answer.await.and_then(acknowledgement) })
    }

    fn life(&self, vault: &[u8; 16]) -> LifeAnswer {
        let answer = self.request(vault, |id| Request::Life { id });
        Box::pin(async {
            match answer.await {
                Some(Answer::Life { life, .. }) => life,
                _ => None,
            }
        })
    }

    fn carry(&self, secret: MovedSecret) -> CarryAnswer {
        let to = secret.departure.to.vault;
        let answer = self.request(&to, |id| Request::Carry { id, secret });
        Box::pin(async {
            match answer.await {
                Some(Answer::Carried { has_arrived, .. }) => Some(has_arrived),
                _ => None,
            }
        })
    }
}

fn acknowledgement(answer: Answer) -> Option<Acknowledgement> {
    match answer {
        Answer::Acknowledged { acknowledgement, .. } => Some(acknowledgement),
        _ => None,
    }
}

impl TlsSiteChannel {
    /// Begins a request to the site with this vault, and returns its answer, if there is one.
    fn request(
        &self,
        vault: &[u8; 16],
        request: impl FnOnce(u64) -> Request,
    ) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send>> {
        let counters = self.counters.clone();
        count(&counters.requests);
        let Some(asked) = self.sites.get(vault).and_then(|site| site.begin(request)) else {
            count(&counters.refused);
            return Box::pin(ready(None));
        };
        Box::pin(async move {
            // Dropping this future drops the request.
            match asked.answer().await {
                Ok(Some(answer)) => {
                    count(&counters.answered);
                    Some(answer)
                }
                // The channel has ended.
                Ok(None) => None,
                Err(_) => {
                    count(&counters.timed_out);
                    None
                }
            }
        })
    }
}
