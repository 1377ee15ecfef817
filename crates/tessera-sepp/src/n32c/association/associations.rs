//! The associations with all peers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use fastrand::Rng;
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use super::Association;
use super::event::Observer;
use super::machine::{Machine, State};
use super::peer::{Peer, now, post};
use super::settings::Settings;
use crate::identity::{AssociationId, AssociationLookup, CertificateIdentity};
use crate::n32c::failure::Failure;
use crate::n32c::initiator::{
    Target, Transport, TransportError, body, paths, read_acknowledgement,
};
use crate::n32c::messages::N32fErrorInfo;
use crate::names::Fqdn;

/// The associations with all configured peers, and the tasks that initiate them.
///
/// Dropping it ends the tasks without notifying peers: [`terminate_all`](Self::terminate_all) does that.
pub struct Associations {
    peers: RwLock<HashMap<Fqdn, AssociationTask>>,
    transport: OnceLock<Arc<dyn Transport>>,
    observer: Arc<dyn Observer>,
    changes: watch::Sender<u64>,
}

struct AssociationTask {
    peer: Arc<Peer>,
    task: Option<AbortHandle>,
}

impl Drop for AssociationTask {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        // Wakes waiters, which check again.
        self.peer.step(|_| ());
    }
}

impl Associations {
    /// Creates the associations with these peers. Their requests are answered from now on; this SEPP initiates nothing
    /// until it is [started](Self::start).
    pub fn new(settings: &Settings, observer: Arc<dyn Observer>) -> Self {
        let associations = Self {
            peers: RwLock::default(),
            transport: OnceLock::new(),
            observer,
            changes: watch::Sender::new(0),
        };
        associations.set(settings);
        associations
    }

    /// Starts exchanges with the peers for which this SEPP initiates. Later calls have no effect: the first transport
    /// stays.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, transport: Arc<dyn Transport>) {
        let transport = self.transport.get_or_init(|| transport);
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        for running in peers.values_mut().filter(|running| running.task.is_none()) {
            running.task = Some(run(&running.peer, transport));
        }
    }

    /// Applies other settings: peers are added and removed; removed ones aren't notified. An association remains valid
    /// while the settings allow it, and is renegotiated.
    ///
    /// # Panics
    /// Outside of a tokio runtime, if it was started.
    pub fn set(&self, settings: &Settings) {
        let local = Arc::new(settings.local.clone());
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|fqdn, _| settings.peers.iter().any(|peer| peer.fqdn == *fqdn));
        for settings in &settings.peers {
            let (local, settings) = (Arc::clone(&local), Arc::new(settings.clone()));
            if let Some(running) = peers.get(&settings.fqdn) {
                running.peer.step(|machine| machine.set(now(), local, settings));
                continue;
            }
            let fqdn = settings.fqdn.clone();
            let machine = Machine::new(local, settings, Rng::new(), now());
            let observer = Arc::clone(&self.observer);
            let peer = Peer::new(fqdn.clone(), machine, self.changes.clone(), observer);
            let peer = Arc::new(peer);
            let task = self.transport.get().map(|transport| run(&peer, transport));
            peers.insert(fqdn, AssociationTask { peer, task });
        }
    }

    /// Returns the association with a peer, if one is established.
    pub fn established(&self, peer: &Fqdn) -> Option<Arc<Association>> {
        self.peer(peer)?.established()
    }

    /// Returns the association with a peer, after waiting for it and initiating it where needed.
    ///
    /// # Errors
    /// If it isn't established by the deadline, or can't be.
    pub async fn ensure(
        &self,
        peer: &Fqdn,
        deadline: Deadline,
    ) -> Result<Arc<Association>, NoAssociation> {
        loop {
            // A reload may have removed it.
            let peer = self.peer(peer).ok_or(NoAssociation::UnknownPeer)?;
            if peer.read(|machine| machine.is_put_off(now())) {
                peer.step(|machine| machine.wanted(now()));
            }
            let mut changes = peer.changes();
            let state = peer.read(|machine| machine.state().clone());
            let why = match state {
                State::Established(association) => return Ok(association),
                State::Exception(failure) => NoAssociation::Failed(failure),
                State::Terminated(_) => NoAssociation::Terminated,
                State::WillEstablish => NoAssociation::TimedOut,
            };
            if !peer.may_become_established(deadline) {
                return Err(why);
            }
            if deadline.limit(changes.changed()).await.is_err() {
                return Err(why);
            }
        }
    }

    /// Returns the association with a peer that sends requests over N32-f. A SEPP that was just started, and initiates
    /// itself, may receive requests before its own first exchange is complete, if the peer agreed with an earlier or
    /// parallel instance: it then waits for that exchange, until `deadline` at most.
    pub async fn established_or_beginning(
        &self,
        peer: &Fqdn,
        deadline: Deadline,
    ) -> Option<Arc<Association>> {
        let running = self.peer(peer)?;
        match running.established() {
            None if running.read(Machine::is_beginning) => self.ensure(peer, deadline).await.ok(),
            association => association,
        }
    }

    /// Returns a counter that changes with the state of any peer.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns all peers, sorted by name.
    pub fn peers(&self) -> Vec<PeerStatus> {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        let status = |running: &AssociationTask| PeerStatus {
            fqdn: running.peer.fqdn.clone(),
            state: running.peer.read(|machine| machine.state().clone()),
        };
        let mut peers: Vec<_> = peers.values().map(status).collect();
        peers.sort_by(|one, other| one.fqdn.cmp(&other.fqdn));
        peers
    }

    /// Handles a peer's N32-f answer that it doesn't know this association, since it was restarted. Renegotiates soon,
    /// if this SEPP initiates. Does nothing if that has already happened.
    pub fn lost(&self, association: &Arc<Association>) {
        if let Some(peer) = self.peer(&association.peer) {
            peer.step(|machine| machine.lost(now(), association));
        }
    }

    /// Begins an exchange with a peer now, even if this SEPP ended the association, or this SEPP doesn't initiate.
    /// Returns whether the peer is configured.
    pub fn reestablish(&self, peer: &Fqdn) -> bool {
        let peer = self.peer(peer);
        peer.map(|peer| peer.step(|machine| machine.renew(now()))).is_some()
    }

    /// Ends the association with a peer until [`reestablish`](Self::reestablish), and notifies the peer (`NONE`).
    /// Returns whether the peer is configured. The association ends immediately, whether the notification arrives or
    /// not.
    pub async fn terminate(&self, peer: &Fqdn, deadline: Deadline) -> bool {
        let Some(peer) = self.peer(peer) else { return false };
        let request = peer.step(Machine::end);
        if let (Some(request), Some(transport)) = (request, self.transport.get()) {
            // The answer changes nothing.
            let (to, path) = (Target::of(&peer.fqdn), paths::EXCHANGE_CAPABILITY);
            let _ = post(&**transport, &peer.fqdn, &to, path, body(&request), deadline).await;
        }
        true
    }

    /// Ends all associations, and notifies all peers concurrently.
    pub async fn terminate_all(self: &Arc<Self>, deadline: Deadline) {
        let mut ends = JoinSet::new();
        for PeerStatus { fqdn, .. } in self.peers() {
            let associations = Arc::clone(self);
            ends.spawn(async move { associations.terminate(&fqdn, deadline).await });
        }
        ends.join_all().await;
    }

    /// Reports to a peer that one of its messages on N32-f was wrong (`n32f-error`).
    ///
    /// # Errors
    /// If the peer doesn't acknowledge it.
    pub async fn report_error(
        &self,
        peer: &Fqdn,
        error: &N32fErrorInfo,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        let Some(transport) = self.transport.get() else {
            let why = "N32-c isn't started".to_owned();
            return Err(Failure::Transport(TransportError::Connect(why)));
        };
        let to = Target::of(peer);
        let reply = post(&**transport, peer, &to, paths::N32F_ERROR, body(error), deadline).await;
        read_acknowledgement(reply)
    }

    pub(crate) fn peer(&self, fqdn: &Fqdn) -> Option<Arc<Peer>> {
        let peers = self.peers.read().unwrap_or_else(PoisonError::into_inner);
        peers.get(fqdn).map(|running| Arc::clone(&running.peer))
    }

    pub(crate) fn observer(&self) -> &dyn Observer {
        &*self.observer
    }
}

impl AssociationLookup for Associations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        let association = Self::established(self, peer)?;
        Some((association.id, association.certificate.clone()))
    }
}

fn run(peer: &Arc<Peer>, transport: &Arc<dyn Transport>) -> AbortHandle {
    let (peer, transport) = (Arc::clone(peer), Arc::clone(transport));
    tokio::spawn(async move { peer.run(&*transport).await }).abort_handle()
}

impl fmt::Debug for Associations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.peers()).finish()
    }
}

/// A peer and its state.
#[derive(Debug, Clone)]
pub struct PeerStatus {
    /// Its name.
    pub fqdn: Fqdn,
    /// The state of its association.
    pub state: State,
}

/// Why there is no association.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAssociation {
    /// No peer with this name is configured.
    UnknownPeer,
    /// It was ended.
    Terminated,
    /// The last attempt failed, and the next one begins after the deadline.
    Failed(Arc<Failure>),
    /// It took too long.
    TimedOut,
}

impl fmt::Display for NoAssociation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPeer => f.write_str("the peer isn't configured"),
            Self::Terminated => f.write_str("the association with the peer was ended"),
            Self::Failed(failure) => write!(f, "no association with the peer: {failure}"),
            Self::TimedOut => f.write_str("no association with the peer in time"),
        }
    }
}

impl std::error::Error for NoAssociation {}
