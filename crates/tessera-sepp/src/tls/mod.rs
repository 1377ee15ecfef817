//! TLS of N32 in both roles, from the files that a configuration names, at startup and at each reload.
//!
//! Both ends show certificates. N32-c is a full handshake each time; N32-f resumes as each peer's `reconnection`
//! allows, and only while everything that its first connection was based on is still valid ([`Standing`]).

mod chooser;
mod client;
mod known;
mod own;
mod server;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::{Checked, ChooseConfig};
use tessera::resume::SingleUseRegister;
use tessera_kit::clock::unix;
use tessera_kit::{ProgramError, SettingFile, trust};
use tessera_proxy::stores::Stores;
use tessera_vault::MemoryRegister;

use self::chooser::Choices;
use self::own::OwnCertificate;
use self::server::{Parts, TicketStores, check_replays};
use crate::config::Configuration;
use crate::identity::{AssociationLookup, Listener};
use crate::names::Fqdn;
use crate::reconnection::{PeerSessions, Standing};

pub use self::client::PeerConnectors;

/// TLS of all listeners and to all peers, under one configuration. A reload creates [another](Self::reloaded).
pub struct N32Tls {
    standing: Arc<Standing>,
    stores: Stores,
    register: Arc<dyn SingleUseRegister>,
    listeners: Vec<(Listener, Choices)>,
    peers: HashMap<Fqdn, PeerTls>,
    ages: Vec<CertificateAge>,
}

/// TLS to a peer.
struct PeerTls {
    connectors: PeerConnectors,
    sessions: Arc<PeerSessions>,
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
        let register = Arc::new(MemoryRegister::new(USED_TICKETS, unix()));
        Self::load(configuration, stores, register, associations, &|_, _| None)
    }

    /// Loads the files of another configuration. The stores stay, and sessions with peers whose settings are the same:
    /// tickets of other peers no longer resume. It blocks while it reads files.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn reloaded(&self, configuration: &Configuration) -> Result<Self, ProgramError> {
        let (register, associations) = (self.register.clone(), self.standing.associations());
        let sessions = |standing: &Arc<Standing>, peer: &Fqdn| {
            let is_same = self.epoch_of(peer) == standing.known().epoch_of(peer);
            let earlier = self.peers.get(peer).filter(|_| is_same)?;
            Some(earlier.sessions.under(standing.clone()))
        };
        Self::load(configuration, &self.stores, register, associations.clone(), &sessions)
    }

    fn load(
        configuration: &Configuration,
        stores: &Stores,
        register: Arc<dyn SingleUseRegister>,
        associations: Arc<dyn AssociationLookup>,
        earlier: &dyn Fn(&Arc<Standing>, &Fqdn) -> Option<PeerSessions>,
    ) -> Result<Self, ProgramError> {
        check_replays(configuration)?;
        let own = OwnCertificate::load(&configuration.local)?;
        let known = Arc::new(known::load(configuration, &own)?);
        let ages = ages(configuration, &own)?;
        let standing = Arc::new(Standing::new(known, associations));
        let parts = Parts { own: &own, standing: &standing, limits: &configuration.limits };
        let kinds: &[_] = match configuration.listen.is_shared() {
            true => &[Listener::Shared],
            false => &[Listener::N32c, Listener::N32f],
        };
        let reconnecting = TicketStores { stores, register: &register };
        let choices = |kind: &Listener| Ok((*kind, parts.choices(*kind, &reconnecting)?));
        let listeners = kinds.iter().map(choices).collect::<Result<_, ProgramError>>()?;
        let mut peers = HashMap::new();
        for peer in standing.known().iter() {
            let new = || PeerSessions::new(standing.clone(), peer.fqdn.clone());
            let sessions = Arc::new(earlier(&standing, &peer.fqdn).unwrap_or_else(new));
            let connectors = parts.to(peer, sessions.clone())?;
            peers.insert(peer.fqdn.clone(), PeerTls { connectors, sessions });
        }
        Ok(Self { stores: stores.clone(), register, listeners, peers, ages, standing })
    }

    /// Returns the peers that an earlier configuration doesn't have, or has with other settings, and those that only
    /// the earlier one has.
    #[must_use]
    pub fn changed_since(&self, earlier: &Self) -> Vec<Fqdn> {
        let names: BTreeSet<&Fqdn> = earlier.peers.keys().chain(self.peers.keys()).collect();
        let changed = |name: &&Fqdn| earlier.epoch_of(name) != self.epoch_of(name);
        names.into_iter().filter(changed).cloned().collect()
    }

    /// Withdraws from handshakes in progress with these peers what they began with under an earlier configuration,
    /// unless this one has it too: they fail.
    pub fn supersede(&self, earlier: &Self, peers: &[Fqdn]) {
        for peer in peers {
            if let (Some(earlier), Some(now)) = (earlier.to(peer), self.to(peer)) {
                earlier.n32c.replace(now.n32c.config());
                earlier.n32f.replace(now.n32f.config());
            }
        }
    }

    /// Returns the epoch of a peer's settings.
    #[must_use]
    pub fn epoch_of(&self, peer: &Fqdn) -> Option<u64> {
        self.standing.known().epoch_of(peer)
    }

    /// Returns the listeners: one for N32-c and N32-f together if they share an address.
    pub fn listeners(&self) -> impl Iterator<Item = Listener> {
        self.listeners.iter().map(|(listener, _)| *listener)
    }

    /// Returns the configuration for a connection of a listener; `None` if its client must send another server name.
    #[must_use]
    pub fn choose(
        &self,
        listener: Listener,
        question: &ChooseConfig,
    ) -> Option<&Checked<ServerConfig>> {
        let (_, choices) = self.listeners.iter().find(|(kind, _)| *kind == listener)?;
        choices.choose(question)
    }

    /// Returns the connectors to a configured peer.
    #[must_use]
    pub fn to(&self, peer: &Fqdn) -> Option<PeerConnectors> {
        self.peers.get(peer).map(|peer| peer.connectors.clone())
    }

    /// Returns what is valid: it identifies the peer of a connection ([`Standing::identify`]), and checks whether it
    /// still is accepted.
    #[must_use]
    pub fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// Returns when the certificates of the configuration end.
    #[must_use]
    pub fn ages(&self) -> &[CertificateAge] {
        &self.ages
    }
}

/// The end of validity of a certificate in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateAge {
    /// `None` for this SEPP's own certificate; else the trust anchor, for its first root to expire.
    pub anchor: Option<String>,
    /// In seconds since the Unix epoch.
    pub expires_at: u64,
}

fn ages(
    configuration: &Configuration,
    own: &OwnCertificate,
) -> Result<Vec<CertificateAge>, ProgramError> {
    let mut ages = vec![CertificateAge { anchor: None, expires_at: own.expires_at }];
    for (name, anchor) in &configuration.trust {
        let setting = &format!("[trust.{name}] roots");
        let first = trust::first_end(SettingFile { setting, path: &anchor.roots })?;
        let anchor = Some(name.clone());
        ages.extend(first.map(|expires_at| CertificateAge { anchor, expires_at }));
    }
    Ok(ages)
}

/// How many tickets with replayable early data are remembered until they expire.
const USED_TICKETS: usize = 100_000;
