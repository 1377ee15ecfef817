//! One of two sites, each in a process: a shared ring, two vaults, and the channel between them.

use std::future::{pending, ready};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};
use tessera::{ClientConfig, ServerConfig};
use tessera_sites::{
    ChannelLimits, KnownSites, OtherSite, ServerLimits, SiteAnswers, SiteProof, SiteServer,
    TlsSiteChannel, client_config, server_config,
};
use tessera_tokio::{Acceptor, Answers, Connector, MemorySessionStore};
use tessera_vault::{Acknowledgement, BurnAtHome, HomeAnswer, SiteChannel, SiteVault};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};

use super::configuration::{self, PATIENCE};
use super::pipes::Result;
use super::stores::Stores;
use crate::control::{AcknowledgementMode, Site};
use crate::pki::{AWAY_NAME, HOME_NAME, Identity};

/// The names of the two vaults, which last for one row: the one that is asked, and the one that asks.
pub(crate) const HOME: [u8; 16] = *b"tessera lab home";
pub(crate) const AWAY: [u8; 16] = *b"tessera lab away";

/// A site with its end of the channel, which is open until this is dropped.
pub(super) struct OpenSite {
    runtime: Runtime,
    end: End,
}

enum End {
    Answers(SocketAddr),
    Asks(Arc<dyn SiteChannel>),
}

impl OpenSite {
    /// Returns the site, and its stores.
    pub(super) fn open(site: &Site) -> Result<(Stores, Self)> {
        // The channel has its own thread; connections of clients have the main thread.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        match site {
            Site::Visitor => Err("a visitor is not a site".into()),
            Site::Home { ticket_key, identity, address } => {
                let stores = Stores::of_site(ticket_key)?;
                let site = SiteVault::named(stores.vault.clone(), HOME, Arc::new(IsolatedChannel));
                let site = Arc::new(site);
                let address = answer(&runtime, site.clone(), identity, *address)?;
                Ok((stores.with_vault(site), Self { runtime, end: End::Answers(address) }))
            }
            Site::Away { ticket_key, identity, home, patience, acknowledges } => {
                let stores = Stores::of_site(ticket_key)?;
                let channel: Arc<dyn SiteChannel> = match acknowledges {
                    AcknowledgementMode::Home => {
                        Arc::new(ask(&runtime, identity, *home, *patience)?)
                    }
                    AcknowledgementMode::Guess => Arc::new(Guesses),
                };
                let site = SiteVault::named(stores.vault.clone(), AWAY, channel.clone());
                let waits = Arc::new(BlockingVault::new(Arc::new(site), runtime.handle().clone()));
                Ok((stores.with_vault(waits), Self { runtime, end: End::Asks(channel) }))
            }
        }
    }

    /// Returns the address for another site, if this one answers.
    pub(super) fn open_at(&self) -> Option<SocketAddr> {
        match self.end {
            End::Answers(address) => Some(address),
            End::Asks(_) => None,
        }
    }

    /// Asks home until it answers.
    pub(super) fn reach_home(&self) -> Result<()> {
        let End::Asks(channel) = &self.end else { return Err("this is home".into()) };
        // A flight that does not exist.
        let home = Incarnation { vault: HOME, number: 0 };
        let nothing = BurnAtHome::new(FlightHandle([0; FlightHandle::LEN]), home);
        let begun = Instant::now();
        while self.runtime.block_on(channel.burn_at_home(&nothing)).is_none() {
            if begun.elapsed() > PATIENCE {
                return Err("home can't be reached".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Answers the other site from now on, at an address of the runtime's threads.
pub(crate) fn answer(
    runtime: &Runtime,
    site: Arc<SiteVault>,
    identity: &Identity,
    address: IpAddr,
) -> Result<SocketAddr> {
    let known = KnownSites::new(configuration::verifier(identity)?)
        .with("other site", SiteProof::DnsName(AWAY_NAME.to_owned()));
    let credentials = vec![configuration::credential(identity)?];
    let config = ServerConfig::new(tessera_aws_lc::provider(), credentials);
    let acceptor = Acceptor::new(server_config(config, known)?);
    let listener = runtime.block_on(runtime.spawn(TcpListener::bind((address, 0))))??;
    let address = listener.local_addr()?;
    let server = SiteServer::new(site, ServerLimits::default());
    runtime.spawn(async move { server.run(listener, acceptor, pending()).await });
    Ok(address)
}

/// Returns the channel to the site that answers, of the runtime's threads.
pub(crate) fn ask(
    runtime: &Runtime,
    identity: &Identity,
    home: SocketAddr,
    patience: Duration,
) -> Result<TlsSiteChannel> {
    let verifier = configuration::verifier(identity)?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), verifier);
    config.credentials = vec![configuration::credential(identity)?];
    let connector = Connector::new(client_config(config)?)
        .with_sessions(Arc::new(MemorySessionStore::default()));
    let mut limits = ChannelLimits::default();
    limits.deadline = patience;
    limits.connect = PATIENCE;
    let address = home.to_string();
    let site = OtherSite { vault: HOME, address, server_name: HOME_NAME.to_owned() };
    let _runtime = runtime.enter();
    Ok(TlsSiteChannel::open(&connector, vec![site], limits))
}

/// For the site that answers, which has no site to ask.
pub(crate) struct IsolatedChannel;

impl SiteChannel for IsolatedChannel {
    fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
        Box::pin(ready(None))
    }
}

/// Guesses the answer of the home site without asking it.
struct Guesses;

impl SiteChannel for Guesses {
    fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
        Box::pin(ready(Some(Acknowledgement::Burned)))
    }
}

/// A site's vault that blocks its one connection.
pub(crate) struct BlockingVault {
    site: Arc<SiteVault>,
    answers: SiteAnswers,
    runtime: Handle,
}

impl BlockingVault {
    pub(crate) fn new(site: Arc<SiteVault>, runtime: Handle) -> Self {
        // The channel limits the time.
        Self { answers: SiteAnswers::new(site.clone(), PATIENCE), site, runtime }
    }
}

impl Vault for BlockingVault {
    fn put(&self, put: PutSecret<'_>) -> std::result::Result<(), PutRefused> {
        self.site.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        match self.site.take(question) {
            Reply::Later => Reply::Now(self.runtime.block_on(self.answers.take_secret(*question))),
            answer => answer,
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.site.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.site.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.site.incarnation()
    }

    fn len(&self) -> usize {
        self.site.len()
    }
}
