//! N32-f to one peer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use http::uri::Authority;
use tessera_proxy::http::client::{Connect, Pool, PoolOptions};
use tokio::time::Instant;

use super::places;
use crate::config::Peer;
use crate::n32c::{Association, AssociationId, Associations};
use crate::n32f::reach::Reachability;
use crate::names::Fqdn;

/// The connections of N32-f to a peer under one association and one epoch of its settings. The next ones get new
/// connections, so that each is judged by the association and the configuration whose requests it carries.
pub(super) struct Link {
    association: AssociationId,
    epoch: Option<u64>,
    pub(super) pool: Pool,
    /// The value of `:authority`.
    pub(super) authority: Authority,
}

/// The link to a peer, created on demand.
pub(super) struct Slot {
    peer: Peer,
    options: PoolOptions,
    link: RwLock<Option<Arc<Link>>>,
    reach: Mutex<Reachability>,
}

/// `BACK_OFF`: the longest time for which a failed address isn't tried. `KEEP_ALIVE`: the longest interval of
/// keep-alive checks; a quiet connection is checked at every third. `KEEP_ALIVE_ANSWER`: the longest wait for the
/// answer. A peer whose process ends is noticed within 15 s, one whose machine falls silent within 25, and the return
/// of either within 5.
const BACK_OFF: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(2);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(3);

impl Slot {
    pub(super) fn new(peer: &Peer, options: PoolOptions) -> Self {
        let reach = Mutex::new(Reachability::new(Instant::now()));
        Self { peer: peer.clone(), options, link: RwLock::new(None), reach }
    }

    /// Returns what is known about the path to the peer.
    pub(super) fn reach(&self) -> MutexGuard<'_, Reachability> {
        self.reach.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether another configuration reaches the peer in the same way.
    pub(super) fn is_for(&self, peer: &Peer) -> bool {
        let places =
            |peer: &Peer| (peer.address.clone(), peer.srv.clone(), peer.n32f_address.clone());
        self.peer.fqdn == peer.fqdn && places(&self.peer) == places(peer)
    }

    /// Returns whether this SEPP dials the peer under this association: a peer without an address connects itself.
    pub(super) fn is_dialled(&self, association: &Association) -> bool {
        places::has_n32f(&self.peer, &association.n32f_fqdn, &association.n32f_ports)
    }

    /// Returns the peer's name.
    pub(super) fn fqdn(&self) -> &Fqdn {
        &self.peer.fqdn
    }

    /// Returns the link under this association and this epoch; `None` if it can't be created.
    pub(super) fn link(
        &self,
        under: (&Association, Option<u64>),
        connect: impl FnOnce(&Fqdn, &Fqdn) -> Arc<dyn Connect>,
    ) -> Option<Arc<Link>> {
        let fits = |link: &Arc<Link>| (link.association, link.epoch) == (under.0.id, under.1);
        let known = self.link.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = known.as_ref().filter(|link| fits(link)) {
            return Some(link.clone());
        }
        drop(known);
        let mut known = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = known.as_ref().filter(|link| fits(link)) {
            return Some(link.clone());
        }
        let made = Arc::new(self.make(under, connect)?);
        // Requests in progress on the earlier link finish on its connections.
        *known = Some(made.clone());
        Some(made)
    }

    fn make(
        &self,
        (association, epoch): (&Association, Option<u64>),
        connect: impl FnOnce(&Fqdn, &Fqdn) -> Arc<dyn Connect>,
    ) -> Option<Link> {
        let (name, ports) = (&association.n32f_fqdn, association.n32f_ports.as_slice());
        let addresses = places::n32f(&self.peer, name, ports);
        let addresses =
            addresses.inspect_err(|error| tracing::warn!(peer = %name, %error, "N32-f"));
        let connect = connect(&self.peer.fqdn, name);
        // A quiet connection is checked at a third of the rate of one with calls, so it still is as often as both sides
        // agreed.
        let mut options = self.options.clone();
        options.keep_alive = KEEP_ALIVE.min(association.keep_alive / 3);
        options.keep_alive_answer = KEEP_ALIVE_ANSWER;
        options.back_off.1 = BACK_OFF;
        Some(Link {
            association: association.id,
            epoch,
            pool: Pool::new(connect, addresses.ok()?, options),
            authority: places::n32f_authority(&self.peer, name, ports)?,
        })
    }

    /// Closes the connections if their association is no longer valid.
    pub(super) fn close_unless(&self, associations: &Associations) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        let now = associations.established(&self.peer.fqdn).map(|association| association.id);
        if link.as_ref().is_some_and(|link| Some(link.association) != now) {
            *link = None;
        }
    }

    /// Closes the connections.
    pub(super) fn close(&self) {
        self.link.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}
