//! The end that asks.

mod connection;
mod requests;

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use tessera_tokio::Connector;
use tessera_vault::{AnswerFromHome, BurnAtHome, SiteChannel};
use tokio::task::AbortHandle;

use crate::counts::{ChannelCounters, ChannelCounts, count};
use crate::limits::ChannelLimits;
use requests::Requests;

/// Another site, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherSite {
    /// The name of its vault: `Incarnation::vault`, as `SiteVault::incarnation` tells it there.
    pub vault: [u8; 16],
    /// Its address, as in `site-b.example:8444`. A name is looked up for each new connection.
    pub address: String,
    /// The name that its certificate must be good for. Whoever else has a certificate for it can make
    /// clients send twice what was executed.
    pub server_name: String,
}

/// The channel to other sites, over TLS: one connection to each, which is made at once, used for all
/// requests, and made again when it ends.
///
/// - A request without an answer has none after [`ChannelLimits::deadline`]. For a vault that it doesn't
///   know, a site that was not there for as long, or too many requests under way it has none at once.
/// - A connection that ends takes no request with it: what has time left is asked again on the next one.
///   A request that arrives twice does no harm.
/// - Early data is never used. A connection is made rarely, and nobody waits for it; in early data the
///   names of flights would be only as secret as the ticket's key.
/// - A dropped request leaves nothing behind. When this value is dropped its connections end, and what
///   still waits has no answer.
pub struct TlsSiteChannel {
    sites: HashMap<[u8; 16], Arc<Requests>>,
    tasks: Vec<AbortHandle>,
    counters: Arc<ChannelCounters>,
}

impl TlsSiteChannel {
    /// Begins to connect to these sites. The connector's configuration is one of
    /// [`client_config`](crate::client_config), with a certificate that the others know; with a
    /// session store of its own it resumes.
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

    /// What was counted until now.
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
    fn burn_at_home(&self, request: &BurnAtHome) -> AnswerFromHome {
        let counters = self.counters.clone();
        count(&counters.requests);
        let site = self.sites.get(&request.home.vault);
        let Some(asked) = site.and_then(|site| site.begin(*request)) else {
            count(&counters.refused);
            return Box::pin(ready(None));
        };
        Box::pin(async move {
            // Whoever drops this future drops what was asked.
            match asked.answer().await {
                Ok(Some(acknowledgement)) => {
                    count(&counters.answered);
                    Some(acknowledgement)
                }
                // The channel ended.
                Ok(None) => None,
                Err(_) => {
                    count(&counters.timed_out);
                    None
                }
            }
        })
    }
}
