//! The end that answers.

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
/// Only peers that [`KnownSites`](crate::KnownSites) recognised are heard. What comes has a fixed size, and
/// is read no faster than it is answered; a peer that is silent, slow or greedy costs others nothing, and
/// one that sends anything else is cut off.
pub struct SiteServer {
    service: Arc<Service>,
}

/// What the connections of a server have in common.
struct Service {
    vault: Arc<SiteVault>,
    /// Asks the vault where it answers later.
    later: Option<Arc<dyn Answers>>,
    limits: ServerLimits,
    counters: ServerCounters,
    /// Those of sites that have connections.
    shares: Mutex<HashMap<String, Arc<Share>>>,
}

impl SiteServer {
    /// A server for this site's vault, which answers at once.
    pub fn new(vault: Arc<SiteVault>, limits: ServerLimits) -> Self {
        Self::of(vault, None, limits)
    }

    /// A server for this site's vault, which may answer later: then `later` is asked to
    /// [`take_secret`](Answers::take_secret), such as an `EtcdVault`.
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

    /// What was counted until now.
    pub fn counts(&self) -> SiteServerCounts {
        self.service.counters.now()
    }

    /// Serves until `end` is ready. The acceptor's configuration is one of
    /// [`server_config`](crate::server_config); peers of any other have no name here and are refused.
    ///
    /// A site that leaves the list of known sites keeps its connections until they end: run a new server
    /// to end them.
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
    /// A place for one more connection of a site, if it may have one.
    fn place(&self, site: &str) -> Option<Place> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of sites that left are found here: the list is short, as that of known sites is.
        shares.retain(|name, share| name == site || Arc::strong_count(share) > 1);
        let share = shares.entry(site.to_owned());
        let share = share.or_insert_with(|| Arc::new(Share::new(&self.limits)));
        Share::place(share, &self.limits)
    }
}
