//! All peers' associations.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use fastrand::Rng;
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::event::Observer;
use super::machine::{Failure, Machine, State};
use super::peer::{Peer, now, post};
use super::settings::{LocalSettings, Settings};
use super::{Association, AssociationId};
use crate::n32c::initiator::{Target, Transport, body, paths};
use crate::n32c::messages::N32fErrorInfo;
use crate::names::Fqdn;

/// The associations with all configured peers, and the tasks that begin them.
///
/// Dropped, it ends the tasks, and tells no peer: [`terminate_all`](Self::terminate_all) does.
pub struct Associations {
    peers: RwLock<HashMap<Fqdn, Running>>,
    transport: Arc<dyn Transport>,
    observer: Arc<dyn Observer>,
    changes: watch::Sender<u64>,
}

struct Running {
    peer: Arc<Peer>,
    task: AbortHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Associations {
    /// With these peers. Exchanges begin at once, where this SEPP begins.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn new(
        settings: &Settings,
        transport: Arc<dyn Transport>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let associations =
            Self { peers: RwLock::default(), transport, observer, changes: watch::Sender::new(0) };
        associations.set(settings);
        associations
    }

    /// Other settings hold: new peers come, and others go, which aren't told. What was agreed under settings that
    /// changed is negotiated anew.
    pub fn set(&self, settings: &Settings) {
        let local = Arc::new(settings.local.clone());
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|fqdn, _| settings.peers.iter().any(|peer| peer.fqdn == *fqdn));
        for settings in &settings.peers {
            let (local, settings) = (Arc::clone(&local), Arc::new(settings.clone()));
            match peers.get(&settings.fqdn) {
                Some(running) => {
                    running.peer.step(|machine| machine.set(now(), local, settings));
                }
                None => {
                    peers.insert(settings.fqdn.clone(), self.run(local, settings));
                }
            }
        }
    }

    fn run(&self, local: Arc<LocalSettings>, settings: Arc<super::PeerSettings>) -> Running {
        let fqdn = settings.fqdn.clone();
        let machine = Machine::new(local, settings, Rng::new(), now());
        let observer = Arc::clone(&self.observer);
        let peer = Arc::new(Peer::new(fqdn, machine, self.changes.clone(), observer));
        let (runs, transport) = (Arc::clone(&peer), Arc::clone(&self.transport));
        let task = tokio::spawn(async move { runs.run(&*transport).await }).abort_handle();
        Running { peer, task }
    }

    /// The association with a peer, while it holds.
    pub fn established(&self, peer: &Fqdn) -> Option<Arc<Association>> {
        self.peer(peer)?.established()
    }

    /// The association with a peer; one that doesn't hold yet is waited for, and begun where this SEPP begins.
    ///
    /// # Errors
    /// If it doesn't hold at the deadline, or can't until then.
    pub async fn ensure(
        &self,
        peer: &Fqdn,
        deadline: Deadline,
    ) -> Result<Arc<Association>, NotEstablished> {
        let peer = self.peer(peer).ok_or(NotEstablished::UnknownPeer)?;
        let mut changes = peer.changes();
        loop {
            changes.borrow_and_update();
            let state = peer.read(|machine| machine.state().clone());
            let why = match state {
                State::Established(association) => return Ok(association),
                State::Exception(failure) => NotEstablished::Failed(failure),
                State::Terminated(_) => NotEstablished::Terminated,
                State::WillEstablish => NotEstablished::TimedOut,
            };
            if !peer.may_become_established(deadline) {
                return Err(why);
            }
            match deadline.limit(changes.changed()).await {
                Ok(Ok(())) => {}
                // The peer went out of the configuration.
                Ok(Err(_)) => return Err(NotEstablished::UnknownPeer),
                Err(_) => return Err(why),
            }
        }
    }

    /// What moves with each change of any peer's state.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// All peers, by name.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        let status = |running: &Running| PeerStatus {
            fqdn: running.peer.fqdn.clone(),
            state: running.peer.read(|machine| machine.state().clone()),
        };
        let mut peers: Vec<_> = peers.values().map(status).collect();
        peers.sort_by(|one, other| one.fqdn.cmp(&other.fqdn));
        peers
    }

    /// The peer's N32-f said that it doesn't know this association: it was restarted. Another one is begun.
    pub fn lost(&self, peer: &Fqdn, id: AssociationId) {
        if let Some(peer) = self.peer(peer) {
            peer.step(|machine| machine.lost(now(), id));
        }
    }

    /// Begins an exchange with a peer now, also after the association was ended here, or where this SEPP doesn't
    /// begin by itself. Whether the peer is configured.
    pub fn reestablish(&self, peer: &Fqdn) -> bool {
        let peer = self.peer(peer);
        peer.map(|peer| peer.step(|machine| machine.renew(now()))).is_some()
    }

    /// Ends the association with a peer until [`reestablish`](Self::reestablish), and tells the peer (`NONE`). Whether
    /// the peer is configured. It is over at once, whether the peer hears of it or not.
    pub async fn terminate(&self, peer: &Fqdn, deadline: Deadline) -> bool {
        let Some(peer) = self.peer(peer) else { return false };
        peer.end(&*self.transport, deadline).await;
        true
    }

    /// Ends all associations, and tells the peers, all at once.
    pub async fn terminate_all(&self, deadline: Deadline) {
        let mut ends: JoinSet<()> = JoinSet::new();
        for peer in self.all() {
            let transport = Arc::clone(&self.transport);
            ends.spawn(async move { peer.end(&*transport, deadline).await });
        }
        ends.join_all().await;
    }

    /// Tells a peer that a message of its on N32-f was wrong (`n32f-error`).
    ///
    /// # Errors
    /// If it doesn't take note.
    pub async fn report_error(
        &self,
        peer: &Fqdn,
        error: &N32fErrorInfo,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        let (to, path) = (Target::of(peer), paths::N32F_ERROR);
        let reply = post(&*self.transport, peer, &to, path, body(error), deadline).await;
        crate::n32c::initiator::read_acknowledgement(reply)
    }

    pub(crate) fn peer(&self, fqdn: &Fqdn) -> Option<Arc<Peer>> {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        peers.get(fqdn).map(|running| Arc::clone(&running.peer))
    }

    pub(crate) fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    fn all(&self) -> Vec<Arc<Peer>> {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        peers.values().map(|running| Arc::clone(&running.peer)).collect()
    }
}

impl fmt::Debug for Associations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.peers()).finish()
    }
}

/// A peer, and what is with it.
#[derive(Debug, Clone)]
pub struct PeerStatus {
    /// Its name.
    pub fqdn: Fqdn,
    /// What is with it.
    pub state: State,
}

/// Why there is no association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotEstablished {
    /// Nobody of this name is configured.
    UnknownPeer,
    /// It was ended.
    Terminated,
    /// The last attempt failed, and the next one comes too late.
    Failed(Arc<Failure>),
    /// It took too long.
    TimedOut,
}

impl fmt::Display for NotEstablished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPeer => f.write_str("the peer isn't configured"),
            Self::Terminated => f.write_str("the association with the peer was ended"),
            Self::Failed(failure) => write!(f, "no association with the peer: {failure}"),
            Self::TimedOut => f.write_str("no association with the peer in time"),
        }
    }
}

impl std::error::Error for NotEstablished {}
