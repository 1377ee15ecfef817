//! Two proxies, and the channel between them on which one-time keys move or are burned (`tessera-sites`).

use std::sync::Arc;
use std::time::Duration;

use tessera::resume::Vault;
use tessera_link::LinkKind;
use tessera_vault::{Limits, MemoryVault, MovingVault, SiteChannel, SiteVault};

use super::joined::Joined;
use crate::endpoint::{
    AWAY, BlockingVault, HOME, IsolatedChannel, PATIENCE, Result, answer_sites, ask_site,
};
use crate::pki::Pki;

/// More one-time keys than a cell needs.
pub(super) const CAPACITY: usize = 100_000;

/// The longest lifetime of a one-time key. Tickets of TLS live no longer (RFC 8446 §4.6.1).
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Both vaults, and what joins them. One proxy asks, and the other answers.
pub(super) struct Neighbours {
    asks: Arc<SiteVault>,
    answers: Arc<SiteVault>,
    /// Whether keys move from the first proxy to the second; else the second has them burned by the first.
    moves: bool,
    pub(super) joined: Joined,
}

impl Neighbours {
    /// Joins both by a link of this kind.
    pub(super) fn open(kind: LinkKind, moves: bool) -> Result<Self> {
        let joined = Joined::open(kind)?;
        let pki = Pki::new()?;
        let answers = site(HOME, Arc::new(IsolatedChannel))?;
        let listens = joined.link.addresses().server;
        let address = answer_sites(&joined.answering, answers.clone(), &pki.home, listens)?;
        let channel = ask_site(&joined.asking, &pki.away, address, PATIENCE)?;
        let asks = site(AWAY, Arc::new(channel))?;
        // As in `tessera edge`: only while a client moves to a proxy does a flight wait for its key there.
        asks.expect_arrivals(false);
        Ok(Self { asks, answers, moves, joined })
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
        Arc::new(BlockingVault::new(site.clone(), self.joined.asking.handle().clone()))
    }

    /// Moves all keys of a client, if they are to move, and returns when they have arrived.
    pub(super) fn moved(&self, client: &[u8]) -> Result<()> {
        if !self.moves {
            return Ok(());
        }
        let held = self.asks.len();
        let moved = self.joined.asking.block_on(self.asks.move_secrets(client, &HOME))?;
        if moved != held {
            return Err(format!("{moved} of {held} one-time keys arrived").into());
        }
        Ok(())
    }
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
