//! The client side of the channel.

mod connection;
mod requests;

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;

use tessera_tokio::Connector;
use tessera_vault::{BurnAtHome, HomeAnswer, SiteChannel};
use tokio::task::AbortHandle;

use crate::counts::{ChannelCounters, ChannelCounts, count};
use crate::limits::ChannelLimits;
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
        let counters = self.counters.clone();
        count(&counters.requests);
        let site = self.sites.get(&request.home.vault);
        let Some(asked) = site.and_then(|site| site.begin(*request)) else {
            count(&counters.refused);
            return Box::pin(ready(None));
        };
        Box::pin(async move {
            // Dropping this future drops the request.
            match asked.answer().await {
                Ok(Some(acknowledgement)) => {
                    count(&counters.answered);
                    Some(acknowledgement)
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
