//! The composition: what the listeners of a SEPP answer.
//!
//! | module | purpose |
//! |---|---|
//! | [`policy`] | the configuration, prepared for lookups on each request |
//! | `live` | everything that a reload replaces, as one value |
//! | `control` | N32-c |
//! | `outgoing`, `incoming` | the path of a request, in both directions |
//! | `border` | what a request and its answer pass: rules, and telescopic names |
//! | `route` | which peer a request is for |
//! | `forgotten` | peers that were restarted |
//! | `look` | inspected bodies, and those that stream through |
//! | `link`, `functions`, `places` | connections to peers and to local network functions |
//! | `shares` | fair shares of what all peers use |
//! | `reaching` | whether peers can be reached on N32-f |
//! | `connects` | opens and accepts connections with the TLS in effect |
//! | [`observer`] | receives events, for metrics and the security log |
//! | `transport` | carries N32-c to peers |

mod border;
mod connects;
mod control;
mod exchange;
mod failure;
mod forgotten;
mod functions;
mod incoming;
mod link;
pub(crate) mod live;
mod look;
pub mod observer;
mod outgoing;
mod places;
pub mod policy;
mod reaching;
mod route;
mod shares;
mod transport;

use std::sync::{Arc, Weak};

use http::{Request, Response};
use tessera::Facts;
use tessera_kit::ProgramError;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::stores::Stores;
use tessera_tokio::Acceptor;
use tokio::sync::watch;

use self::connects::{Acceptors, ConnectionFactory};
use self::live::{ActiveConfig, Live};
use self::observer::Observer;
pub(crate) use self::shares::{Share, Shares};
use self::transport::HttpTransport;
use crate::config::Configuration;
use crate::guard::Guard;
use crate::identity::{AssociationId, AssociationLookup, CertificateIdentity};
use crate::n32c::{self, Associations, Settings};
use crate::names::Fqdn;
use crate::reconnection::{IdentityRefusal, PeerConnection};
use crate::sbi::api_root::ApiRoot;
use crate::sbi::request as passing;
use crate::tls::{N32Tls, PeerConnectors};

/// A Security Edge Protection Proxy, without its listeners: [`sbi`](Self::sbi) answers local network functions,
/// [`n32`](Self::n32) answers peers.
pub struct Sepp {
    live: Arc<Live>,
    connects: ConnectionFactory,
    acceptors: Acceptors,
    stores: Stores,
    associations: Arc<Associations>,
    observer: Arc<dyn Observer>,
    /// Notified when a peer becomes reachable or unreachable.
    ways: watch::Sender<()>,
    /// Shares of the concurrent requests, those from a peer and those to it together.
    requests: Shares,
}

impl Sepp {
    /// Creates a SEPP from a checked configuration and the files that it names. Where it initiates, it starts N32-c
    /// exchanges immediately.
    ///
    /// # Errors
    /// If a file can't be read or is invalid, the files don't fit together, or the configuration contradicts itself.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(
        config: &Configuration,
        stores: &Stores,
        guard: Arc<Guard>,
        observer: Arc<dyn Observer>,
        of_n32c: Arc<dyn n32c::Observer>,
    ) -> Result<Self, ProgramError> {
        let associations = Arc::new(Associations::new(&Settings::of(config), of_n32c));
        // Weak: the associations reach peers through the TLS that queries them.
        let known = Arc::new(WeakAssociations(Arc::downgrade(&associations)));
        let tls = N32Tls::open(config, stores, known)?;
        let live = Arc::new(Live::new(Arc::new(ActiveConfig::new(config, guard, tls, None)?)));
        let connects = ConnectionFactory(Arc::downgrade(&live));
        let acceptors = connects.acceptors(&live.borrow(), stores)?;
        // Nothing after this can fail.
        associations.start(Arc::new(HttpTransport(connects.clone())));
        let (stores, ways) = (stores.clone(), watch::Sender::new(()));
        let requests = Shares::of(usize::try_from(config.limits.requests).unwrap_or(usize::MAX));
        Ok(Self { live, connects, acceptors, stores, associations, observer, ways, requests })
    }

    /// Loads the files of another checked configuration, and applies it to requests and connections that begin from now
    /// on. It blocks while it reads them, within a tokio runtime. Listeners and stores stay: the caller checks whether
    /// the configuration has others.
    ///
    /// Returns the peers that were added, removed or changed. Their connections end: those that this SEPP opened are
    /// closed already, and holders of others end those that no longer [stand](crate::reconnection::Standing::stands).
    ///
    /// # Errors
    /// If anything can't be loaded, or contradicts itself; nothing has changed then.
    pub fn reload(
        &self,
        config: &Configuration,
        guard: Arc<Guard>,
    ) -> Result<Vec<Fqdn>, ProgramError> {
        let earlier = self.live();
        let keys = self.stores.load_again()?;
        let tls = earlier.tls.reloaded(config)?;
        let changed = tls.changed_since(&earlier.tls);
        let next = Arc::new(ActiveConfig::new(config, guard, tls, Some(&earlier))?);
        // Nothing after this can fail.
        self.stores.exchange(keys);
        self.live.send_replace(next.clone());
        next.tls.supersede(&earlier.tls, &changed);
        // After the exchange: an added peer needs its TLS for N32-c.
        self.associations.set(&Settings::of(config));
        self.forget_ways(&earlier);
        changed.iter().for_each(|peer| self.close(peer));
        Ok(changed)
    }

    /// Returns the shares of the concurrent requests.
    pub(crate) fn requests(&self) -> &Shares {
        &self.requests
    }

    /// Sends a request of this SEPP itself to a local network function; its URI is only a path.
    ///
    /// # Errors
    /// If there is no answer: why.
    pub(crate) async fn ask_own(
        &self,
        root: &ApiRoot<'_>,
        request: Request<Body>,
        deadline: Deadline,
    ) -> Result<Response<Body>, String> {
        let function = self.connects.route(&self.live(), root, None);
        let function = function.map_err(|problem| problem.detail.into_owned())?;
        let (mut parts, body) = request.into_parts();
        passing::address(&mut parts, &function.scheme, &function.authority, root.prefix)
            .map_err(|problem| problem.detail.into_owned())?;
        let request = Request::from_parts(parts, body);
        let answer = function.pool.call(request, Call::until(deadline)).await;
        answer.map(|answer| answer.response).map_err(|error| error.to_string())
    }

    /// Closes this SEPP's N32-f connections to the peer with this name; requests in progress finish first. The next
    /// request opens a new connection.
    pub fn close(&self, peer: &Fqdn) {
        let live = self.live();
        if let Some(peer) = live.policy.named(peer) {
            live.close(peer);
        }
    }

    /// Closes this SEPP's N32-f connections whose association is no longer valid. Call it when an association has
    /// changed ([`Associations::watch`]).
    pub fn close_ended(&self) {
        self.live().close_ended(&self.associations);
    }

    /// Identifies the peer of a connection, as [`Standing::identify`](crate::reconnection::Standing::identify) does.
    ///
    /// # Errors
    /// If it isn't accepted now. The caller must end the connection.
    pub fn identify(&self, facts: &Facts) -> Result<PeerConnection, IdentityRefusal> {
        self.live().tls.standing().identify(facts)
    }

    /// Returns the connectors to a configured peer.
    #[must_use]
    pub fn to(&self, peer: &Fqdn) -> Option<PeerConnectors> {
        self.live().tls.to(peer)
    }

    /// Returns the acceptor of N32-c; the same as N32-f's if they share an address.
    #[must_use]
    pub fn n32c_acceptor(&self) -> Option<&Acceptor> {
        self.acceptors.of_peers.first()
    }

    /// Returns the acceptor of N32-f.
    #[must_use]
    pub fn n32f_acceptor(&self) -> Option<&Acceptor> {
        self.acceptors.of_peers.last()
    }

    /// Returns the acceptor for local network functions; `None` without TLS.
    #[must_use]
    pub fn functions_acceptor(&self) -> Option<&Acceptor> {
        self.acceptors.of_functions.as_ref()
    }

    /// Returns the associations with peers.
    pub fn associations(&self) -> &Arc<Associations> {
        &self.associations
    }

    /// Returns the configuration in effect.
    pub(crate) fn live(&self) -> Arc<ActiveConfig> {
        self.live.borrow().clone()
    }

    /// Returns a receiver of configurations, which is notified on each reload.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<ActiveConfig>> {
        self.live.subscribe()
    }

    fn observer(&self) -> &dyn Observer {
        &*self.observer
    }
}

/// The associations, for TLS.
struct WeakAssociations(Weak<Associations>);

impl AssociationLookup for WeakAssociations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        AssociationLookup::established(&*self.0.upgrade()?, peer)
    }
}
