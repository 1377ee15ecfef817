//! All peers' associations.

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
use crate::identity::{AssociationId, AssociationsOf, CertificateIdentity};
use crate::n32c::failure::Failure;
use crate::n32c::initiator::{
    Target, Transport, TransportError, body, paths, read_acknowledgement,
};
use crate::n32c::messages::N32fErrorInfo;
use crate::names::Fqdn;

/// The associations with all configured peers, and the tasks that begin them.
///
/// Dropped, it ends the tasks, and tells no peer: [`terminate_all`](Self::terminate_all) does.
pub struct Associations {
    peers: RwLock<HashMap<Fqdn, Running>>,
    transport: OnceLock<Arc<dyn Transport>>,
    observer: Arc<dyn Observer>,
    changes: watch::Sender<u64>,
}

struct Running {
    peer: Arc<Peer>,
    task: Option<AbortHandle>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        // Who waits for it looks again.
        self.peer.step(|_| ());
    }
}

impl Associations {
    /// With these peers. Their requests are answered from now on; this SEPP begins nothing until it is
    /// [started](Self::start).
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

    /// Begins exchanges, where this SEPP begins. Once started, it stays so, with the transport of the first time.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn start(&self, transport: Arc<dyn Transport>) {
        let transport = self.transport.get_or_init(|| transport);
        let mut peers = self.peers.write().unwrap_or_else(PoisonError::into_inner);
        for running in peers.values_mut().filter(|running| running.task.is_none()) {
            running.task = Some(run(&running.peer, transport));
        }
    }

    /// Other settings hold: new peers come, and others go, which aren't told. An association holds on as long as the
    /// settings still allow it, and is negotiated anew.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, if it was started.
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
            peers.insert(fqdn, Running { peer, task });
        }
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
        loop {
            // It may go out of the configuration meanwhile.
            let peer = self.peer(peer).ok_or(NotEstablished::UnknownPeer)?;
            if peer.read(|machine| machine.is_put_off(now())) {
                peer.step(|machine| machine.wanted(now()));
            }
            let mut changes = peer.changes();
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
            if deadline.limit(changes.changed()).await.is_err() {
                return Err(why);
            }
        }
    }

    /// The association with a peer that asks over N32-f. A SEPP that was just started, and begins by itself, may be
    /// asked before its own first exchange is over, where the peer agreed with an instance before it or beside it:
    /// that exchange is waited for, until `deadline` at most.
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

    /// The peer's N32-f said that it doesn't know this association: it was restarted. It is agreed anew, soon,
    /// where this SEPP begins. Nothing happens if it was meanwhile.
    pub fn lost(&self, association: &Arc<Association>) {
        if let Some(peer) = self.peer(&association.peer) {
            peer.step(|machine| machine.lost(now(), association));
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
        let request = peer.step(Machine::end);
        if let (Some(request), Some(transport)) = (request, self.transport.get()) {
            // What the peer says to that changes nothing.
            let (to, path) = (Target::of(&peer.fqdn), paths::EXCHANGE_CAPABILITY);
            let _ = post(&**transport, &peer.fqdn, &to, path, body(&request), deadline).await;
        }
        true
    }

    /// Ends all associations, and tells the peers, all at once.
    pub async fn terminate_all(self: &Arc<Self>, deadline: Deadline) {
        let mut ends = JoinSet::new();
        for PeerStatus { fqdn, .. } in self.peers() {
            let associations = Arc::clone(self);
            ends.spawn(async move { associations.terminate(&fqdn, deadline).await });
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

impl AssociationsOf for Associations {
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
