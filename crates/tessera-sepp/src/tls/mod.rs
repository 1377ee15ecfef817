//! TLS of N32: acceptors and connectors, from the files that a configuration names, at startup and at each reload.
//!
//! Both ends show certificates. N32-c is a full handshake each time; N32-f resumes as each peer's `reconnection`
//! allows, and only while everything that its first connection was based on is still valid ([`Standing`]).

mod chooser;
mod client;
mod known;
mod own;
mod server;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use tessera::resume::SingleUseRegister;
use tessera_kit::clock::unix;
use tessera_kit::{ProgramError, SettingFile, trust};
use tessera_proxy::changes::PreparedReload;
use tessera_proxy::stores::Stores;
use tessera_tokio::Acceptor;
use tessera_vault::MemoryRegister;

use self::chooser::{Choices, NameChooser};
use self::client::PeerConfigs;
use self::own::OwnCertificate;
use self::server::{Parts, TicketStores, check_replays};
use crate::config::Configuration;
use crate::identity::{AssociationLookup, KnownPeers, Listener};
use crate::names::Fqdn;
use crate::reconnection::Standing;

pub use self::client::PeerConnectors;

/// TLS of all listeners and to all peers.
pub struct N32Tls {
    standing: Arc<Standing>,
    stores: Stores,
    register: Arc<dyn SingleUseRegister>,
    listeners: Vec<ListenerTls>,
    connectors: RwLock<HashMap<Fqdn, PeerConnectors>>,
    ages: RwLock<Vec<CertificateAge>>,
}

impl N32Tls {
    /// Loads what the configuration names.
    ///
    /// # Errors
    /// If a file can't be read or isn't what it should be, or what they hold can't be used together.
    pub fn open(
        configuration: &Configuration,
        stores: &Stores,
        associations: Arc<dyn AssociationLookup>,
    ) -> Result<Self, ProgramError> {
        let files = Files::load(configuration)?;
        let standing = Arc::new(Standing::new(files.known.clone(), associations));
        let register: Arc<dyn SingleUseRegister> =
            Arc::new(MemoryRegister::new(USED_TICKETS, unix()));
        let reconnecting = TicketStores { stores, register: &register };
        let parts = files.parts(configuration, &standing);
        let kinds: &[_] = match configuration.listen.is_shared() {
            true => &[Listener::Shared],
            false => &[Listener::N32c, Listener::N32f],
        };
        let mut listeners = Vec::new();
        for listener in kinds {
            let choices = parts.choices(*listener, &reconnecting)?;
            let chooser = Arc::new(NameChooser::new(choices));
            let config = parts.listening(chooser.clone())?;
            let mut acceptor = Acceptor::new(config);
            if let Some(answers) = &stores.answers {
                acceptor = acceptor.with_answers(answers.clone());
            }
            listeners.push(ListenerTls { listener: *listener, chooser, acceptor });
        }
        let mut connectors = HashMap::new();
        for peer in files.known.iter() {
            let made = parts.to(peer)?.connectors(&standing, &peer.fqdn);
            connectors.insert(peer.fqdn.clone(), made);
        }
        Ok(Self {
            stores: stores.clone(),
            register,
            listeners,
            connectors: RwLock::new(connectors),
            ages: RwLock::new(files.ages),
            standing,
        })
    }

    /// Loads the files of a configuration, including the epoch keys of a fleet, without applying them. The listeners
    /// and the stores stay: the caller checks whether the configuration has others. It blocks while it reads files.
    ///
    /// Once exchanged, tickets of changed peers no longer resume, and [`Standing::changes`] notifies holders of
    /// connections. Returns the peers that were added, removed or changed.
    ///
    /// # Errors
    /// If anything can't be loaded.
    pub fn prepare(
        &self,
        configuration: &Configuration,
    ) -> Result<PreparedReload<'_, Vec<Fqdn>>, ProgramError> {
        let files = Files::load(configuration)?;
        let stores = self.stores.load_again()?;
        let reconnecting = TicketStores { stores: &self.stores, register: &self.register };
        let parts = files.parts(configuration, &self.standing);
        let choices: Result<_, _> =
            self.listeners.iter().map(|it| parts.choices(it.listener, &reconnecting)).collect();
        let choices = choices?;
        let mut peers = HashMap::new();
        for peer in files.known.iter() {
            peers.insert(peer.fqdn.clone(), parts.to(peer)?);
        }
        Ok(PreparedReload::new(move || {
            self.stores.exchange(stores);
            self.exchange(choices, peers, files)
        }))
    }

    fn exchange(
        &self,
        choices: Vec<Choices>,
        peers: HashMap<Fqdn, PeerConfigs>,
        files: Files,
    ) -> Vec<Fqdn> {
        let known = files.known;
        let earlier = self.standing.known();
        let names: BTreeSet<Fqdn> =
            earlier.iter().chain(known.iter()).map(|peer| peer.fqdn.clone()).collect();
        let changed = |name: &Fqdn| earlier.epoch_of(name) != known.epoch_of(name);
        let changed = names.into_iter().filter(changed).collect();
        // Before any configuration: connections accepted by an earlier one are already judged by this.
        self.standing.replace(known);
        for (it, choices) in self.listeners.iter().zip(choices) {
            it.chooser.replace(choices);
        }
        let mut connectors = self.connectors.write().unwrap_or_else(PoisonError::into_inner);
        connectors.retain(|peer, _| peers.contains_key(peer));
        for (peer, configs) in peers {
            match connectors.get(&peer) {
                Some(connectors) => configs.replace(connectors),
                None => {
                    let made = configs.connectors(&self.standing, &peer);
                    connectors.insert(peer, made);
                }
            }
        }
        *self.ages.write().unwrap_or_else(PoisonError::into_inner) = files.ages;
        changed
    }
    /// Returns the acceptor of N32-c; the same as N32-f's if they share an address.
    #[must_use]
    pub fn n32c(&self) -> Option<&Acceptor> {
        self.acceptor(Listener::N32c)
    }

    /// Returns the acceptor of N32-f.
    #[must_use]
    pub fn n32f(&self) -> Option<&Acceptor> {
        self.acceptor(Listener::N32f)
    }

    fn acceptor(&self, wanted: Listener) -> Option<&Acceptor> {
        let fits = |it: &&ListenerTls| it.listener == wanted || it.listener == Listener::Shared;
        self.listeners.iter().find(fits).map(|it| &it.acceptor)
    }

    /// Returns the connectors to a configured peer.
    #[must_use]
    pub fn to(&self, peer: &Fqdn) -> Option<PeerConnectors> {
        self.connectors.read().unwrap_or_else(PoisonError::into_inner).get(peer).cloned()
    }

    /// Returns what is valid now: it identifies the peer of a connection ([`Standing::identify`]), and checks whether
    /// it still is accepted.
    #[must_use]
    pub fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// Returns when the certificates of the configuration end.
    #[must_use]
    pub fn ages(&self) -> Vec<CertificateAge> {
        self.ages.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One listener.
struct ListenerTls {
    listener: Listener,
    chooser: Arc<NameChooser>,
    acceptor: Acceptor,
}

/// The end of validity of a certificate in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateAge {
    /// `None` for this SEPP's own certificate; else the trust anchor, for its first root to expire.
    pub anchor: Option<String>,
    /// In seconds since the Unix epoch.
    pub expires_at: u64,
}

/// Loaded files.
struct Files {
    own: OwnCertificate,
    known: Arc<KnownPeers>,
    ages: Vec<CertificateAge>,
}

impl Files {
    fn load(configuration: &Configuration) -> Result<Self, ProgramError> {
        check_replays(configuration)?;
        let own = OwnCertificate::load(&configuration.local)?;
        let known = Arc::new(known::load(configuration, &own)?);
        let mut ages = vec![CertificateAge { anchor: None, expires_at: own.expires_at }];
        for (name, anchor) in &configuration.trust {
            let setting = &format!("[trust.{name}] roots");
            let first = trust::first_end(SettingFile { setting, path: &anchor.roots })?;
            let anchor = Some(name.clone());
            ages.extend(first.map(|expires_at| CertificateAge { anchor, expires_at }));
        }
        Ok(Self { own, known, ages })
    }

    fn parts<'p>(
        &'p self,
        configuration: &'p Configuration,
        standing: &'p Arc<Standing>,
    ) -> Parts<'p> {
        let Self { own, known, .. } = self;
        Parts { own, known, standing, limits: &configuration.limits }
    }
}

/// How many tickets with replayable early data are remembered until they expire.
const USED_TICKETS: usize = 100_000;
