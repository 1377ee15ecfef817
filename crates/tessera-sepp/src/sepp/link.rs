//! N32-f to one peer.

use std::sync::{Arc, PoisonError, RwLock};

use http::uri::Authority;
use tessera_proxy::http::client::{Pool, PoolOptions};

use super::connects::Connects;
use super::places;
use crate::config::Peer;
use crate::n32c::{Association, AssociationId, Associations};

/// The connections of N32-f to a peer, as long as one association holds: under the next one they are made anew, so
/// that each is judged by the association that it carries requests for.
pub(super) struct Link {
    association: AssociationId,
    pub(super) pool: Pool,
    /// What stands in `:authority`.
    pub(super) authority: Authority,
}

/// The link to a peer, made when it is needed.
pub(super) struct Slot {
    peer: Peer,
    options: PoolOptions,
    link: RwLock<Option<Arc<Link>>>,
}

impl Slot {
    pub(super) fn new(peer: &Peer, options: PoolOptions) -> Self {
        Self { peer: peer.clone(), options, link: RwLock::new(None) }
    }

    /// Whether a peer of another configuration is reached in the same way.
    pub(super) fn is_for(&self, peer: &Peer) -> bool {
        let places =
            |peer: &Peer| (peer.address.clone(), peer.srv.clone(), peer.n32f_address.clone());
        self.peer.fqdn == peer.fqdn && places(&self.peer) == places(peer)
    }

    /// The link under this association; `None` if it can't be made.
    pub(super) fn link(
        &self,
        association: &Association,
        connects: &dyn Connects,
    ) -> Option<Arc<Link>> {
        let fits = |link: &Arc<Link>| link.association == association.id;
        let known = self.link.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = known.as_ref().filter(|link| fits(link)) {
            return Some(link.clone());
        }
        drop(known);
        let mut known = self.link.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = known.as_ref().filter(|link| fits(link)) {
            return Some(link.clone());
        }
        let made = Arc::new(self.make(association, connects)?);
        // The earlier one's requests under way end in its connections.
        *known = Some(made.clone());
        Some(made)
    }

    fn make(&self, association: &Association, connects: &dyn Connects) -> Option<Link> {
        let (name, ports) = (&association.n32f_fqdn, association.n32f_ports.as_slice());
        let addresses = places::n32f(&self.peer, name, ports);
        let addresses =
            addresses.inspect_err(|error| tracing::warn!(peer = %name, %error, "N32-f"));
        let connect = connects.n32f(&self.peer.fqdn, name)?;
        // A quiet connection is asked three times as seldom as one with calls: still as often as both agreed.
        let mut options = self.options.clone();
        options.keep_alive = options.keep_alive.min(association.keep_alive / 3);
        Some(Link {
            association: association.id,
            pool: Pool::new(connect, addresses.ok()?, options),
            authority: places::n32f_authority(&self.peer, name, ports)?,
        })
    }

    /// Ends its connections if their association holds no more.
    pub(super) fn close_unless(&self, associations: &Associations) {
        let mut link = self.link.write().unwrap_or_else(PoisonError::into_inner);
        let now = associations.established(&self.peer.fqdn).map(|association| association.id);
        if link.as_ref().is_some_and(|link| Some(link.association) != now) {
            *link = None;
        }
    }

    /// Ends its connections.
    pub(super) fn close(&self) {
        self.link.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}
