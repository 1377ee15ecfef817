//! The server side of the channel.

mod connection;
mod share;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_tokio::{Acceptor, Answers, Server};
use tessera_vault::SiteVault;
use tokio::net::TcpListener;

use crate::counts::{ServerCounters, SiteServerCounts};
use crate::limits::ServerLimits;
use share::{Place, Share};

/// Burns secrets of this site's vault for other sites.
///
/// It only serves peers that [`KnownSites`](crate::KnownSites) recognised. Requests have a fixed size, and are read no
/// faster than they are answered; a peer that is silent, slow or greedy costs others nothing, and one that sends
/// anything else is disconnected.
pub struct SiteServer {
    service: Arc<Service>,
}

/// State shared by the connections of a server.
struct Service {
    vault: Arc<SiteVault>,
    /// Asks a vault that answers later.
    later: Option<Arc<dyn Answers>>,
    limits: ServerLimits,
    counters: ServerCounters,
    /// The shares of sites that have connections.
    shares: Mutex<HashMap<String, Arc<Share>>>,
}

impl SiteServer {
    /// Creates a server for this site's vault, which must answer at once.
    pub fn new(vault: Arc<SiteVault>, limits: ServerLimits) -> Self {
        Self::of(vault, None, limits)
    }

    /// Creates a server for this site's vault, which may answer later: then the server calls
    /// [`take_secret`](Answers::take_secret) of `later`, such as an `EtcdVault`.
    pub fn with_later_answers(
        vault: Arc<SiteVault>,
        later: Arc<dyn Answers>,
        limits: ServerLimits,
    ) -> Self {
        Self::of(vault, Some(later), limits)
    }

    fn of(vault: Arc<SiteVault>, later: Option<Arc<dyn Answers>>, limits: ServerLimits) -> Self {
        let (counters, shares) = (ServerCounters::default(), Mutex::default());
        Self { service: Arc::new(Service { vault, later, limits, counters, shares }) }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> SiteServerCounts {
        self.service.counters.now()
    }

    /// Serves until `end` is ready.
    ///
    /// The acceptor's configuration comes from [`server_config`](crate::server_config); with any other, peers have no
    /// name here and are refused.
    ///
    /// A site removed from the list of known sites keeps its connections until they end; to end them, start a new
    /// server.
    pub async fn run(
        &self,
        listener: TcpListener,
        acceptor: Acceptor,
        end: impl Future<Output = ()>,
    ) {
        let server = Server::new(listener, acceptor, self.service.limits.connections);
        let service = &self.service;
        server.run(end, |client| connection::serve(service.clone(), client)).await;
    }
}

impl Service {
    /// Returns a place for one more connection of a site, if its limit allows it.
    fn place(&self, site: &str) -> Option<Place> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // This also drops the shares of sites that left: the list is as short as that of known sites.
        shares.retain(|name, share| name == site || Arc::strong_count(share) > 1);
        let share = shares.entry(site.to_owned());
        let share = share.or_insert_with(|| Arc::new(Share::new(&self.limits)));
        Share::place(share, &self.limits)
    }
}
