//! Two proxies, and the channel between them on which one-time keys move or are burned (`tessera-sites`).

use std::sync::Arc;
use std::time::Duration;

use tessera::resume::Vault;
use tessera_link::{End, Link, LinkKind, LinkParameters};
use tessera_vault::{Limits, MemoryVault, MovingVault, SiteChannel, SiteVault};
use tokio::runtime::{Builder, Runtime};

use super::ends::CAPACITY;
use crate::bench::set_link;
use crate::endpoint::{
    AWAY, BlockingVault, HOME, IsolatedChannel, PATIENCE, Result, answer_sites, ask_site,
};
use crate::error::LabError;
use crate::pki::Pki;

/// The longest lifetime of a one-time key. Tickets of TLS live no longer (RFC 8446 §4.6.1).
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Both vaults, and what joins them. One proxy asks, and the other answers.
pub(super) struct Neighbours {
    asks: Arc<SiteVault>,
    answers: Arc<SiteVault>,
    /// Whether keys move from the first proxy to the second; else the second has them burned by the first.
    moves: bool,
    // Before the link: their sockets are at its ends.
    of_asking: Runtime,
    _of_answering: Runtime,
    link: Link,
}

impl Neighbours {
    /// Joins both by a link of this kind, without delay yet.
    pub(super) fn open(kind: LinkKind, moves: bool) -> Result<Self> {
        let link = Link::open(kind, &LinkParameters::default())?;
        let [of_asking, of_answering] =
            [End::Client, End::Server].map(|end| runtime_at(&link, end));
        let (of_asking, of_answering) = (of_asking?, of_answering?);
        let pki = Pki::new()?;
        let answers = site(HOME, Arc::new(IsolatedChannel))?;
        let listens = link.addresses().server;
        let address = answer_sites(&of_answering, answers.clone(), &pki.home, listens)?;
        let channel = ask_site(&of_asking, &pki.away, address, PATIENCE)?;
        let asks = site(AWAY, Arc::new(channel))?;
        // As in `tessera edge`: only while a client moves to a proxy does a flight wait for its key there.
        asks.expect_arrivals(false);
        Ok(Self { asks, answers, moves, of_asking, _of_answering: of_answering, link })
    }

    /// Returns the vault of the proxy that issues the tickets.
    pub(super) fn first(&self) -> Arc<dyn Vault> {
        self.vault(if self.moves { &self.asks } else { &self.answers })
    }

    /// Returns the vault of the proxy that the client comes to.
    pub(super) fn second(&self) -> Arc<dyn Vault> {
        self.vault(if self.moves { &self.answers } else { &self.asks })
    }

    fn vault(&self, site: &Arc<SiteVault>) -> Arc<dyn Vault> {
        Arc::new(BlockingVault::new(site.clone(), self.of_asking.handle().clone()))
    }

    /// Moves all keys of a client, if they are to move, and returns when they have arrived.
    pub(super) fn moved(&self, client: &[u8]) -> Result<()> {
        if !self.moves {
            return Ok(());
        }
        let held = self.asks.len();
        let moved = self.of_asking.block_on(self.asks.move_secrets(client, &HOME))?;
        if moved != held {
            return Err(format!("{moved} of {held} one-time keys arrived").into());
        }
        Ok(())
    }

    /// Changes the link between the proxies.
    pub(super) fn set_link(
        &self,
        parameters: &LinkParameters,
    ) -> std::result::Result<(), LabError> {
        set_link(&self.link, parameters)
    }
}

/// Returns a runtime whose threads make their sockets at this end.
fn runtime_at(link: &Link, end: End) -> Result<Runtime> {
    let build = || Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let built = link.spawn_thread(end, build)?;
    Ok(built.join().map_err(|_| "a thread failed")??)
}

fn site(name: [u8; 16], channel: Arc<dyn SiteChannel>) -> Result<Arc<SiteVault>> {
    // All keys are of one client.
    let limits = Limits { per_client: CAPACITY, ..Limits::new(CAPACITY) };
    let random = tessera_aws_lc::provider().random;
    let vault = MemoryVault::with_limits(limits);
    let vault = MovingVault::new(vault, name, CAPACITY, LIFETIME, random)
        .map_err(|_| "no random bytes for a vault")?;
    Ok(Arc::new(SiteVault::moving(Arc::new(vault), channel)))
}
