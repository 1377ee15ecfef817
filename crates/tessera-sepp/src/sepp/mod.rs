//! The composition: what the listeners of a SEPP answer.
//!
//! | module | purpose |
//! |---|---|
//! | [`policy`] | the configuration, prepared for lookups on each request |
//! | `live` | everything that handles a request, replaced on reload |
//! | `control` | N32-c |
//! | `outgoing`, `incoming` | the path of a request, in both directions |
//! | `border` | what a request and its answer pass: rules, and telescopic names |
//! | `route` | which peer a request is for |
//! | `forgotten` | peers that were restarted |
//! | `look` | inspected bodies, and those that stream through |
//! | `link`, `functions`, `places` | connections to peers and to local network functions |
//! | `shares` | fair shares of what all peers use |
//! | `reaching` | whether peers can be reached on N32-f |
//! | [`connects`] | opens connections: with TLS in a program, as they like in tests |
//! | [`observer`] | receives events, for metrics and the security log |
//! | [`transport`] | carries N32-c to peers |
//! | [`assembly`] | all of it with TLS, at startup and on reload |

pub mod assembly;
mod border;
pub mod connects;
mod control;
mod exchange;
mod failure;
mod forgotten;
mod functions;
mod incoming;
mod link;
mod live;
mod look;
pub mod observer;
mod outgoing;
mod places;
pub mod policy;
mod reaching;
mod route;
mod shares;
pub mod transport;

use std::sync::{Arc, PoisonError, RwLock};

use http::{Request, Response};
use tessera_kit::ProgramError;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;

use self::connects::ConnectorFactory;
use self::live::ActiveConfig;
use self::observer::Observer;
pub(crate) use self::shares::{Share, Shares};
use crate::config::Configuration;
use crate::guard::Guard;
use crate::n32c::Associations;
use crate::names::Fqdn;
use crate::sbi::api_root::ApiRoot;
use crate::sbi::request as passing;

/// A Security Edge Protection Proxy, without its listeners: [`sbi`](Self::sbi) answers local network functions,
/// [`n32`](Self::n32) answers peers.
pub struct Sepp {
    live: RwLock<Arc<ActiveConfig>>,
    associations: Arc<Associations>,
    connects: Arc<dyn ConnectorFactory>,
    observer: Arc<dyn Observer>,
    /// Notified when a peer becomes reachable or unreachable.
    ways: watch::Sender<()>,
    /// Shares of the concurrent requests, those from a peer and those to it together.
    requests: Shares,
}

impl Sepp {
    /// Creates a SEPP from a checked configuration.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(
        config: &Configuration,
        guard: Arc<Guard>,
        associations: Arc<Associations>,
        connects: Arc<dyn ConnectorFactory>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, ProgramError> {
        let live = ActiveConfig::new(config, guard, connects.clone(), None)?;
        let (live, ways) = (RwLock::new(Arc::new(live)), watch::Sender::new(()));
        let requests = Shares::of(usize::try_from(config.limits.requests).unwrap_or(usize::MAX));
        Ok(Self { live, associations, connects, observer, ways, requests })
    }

    /// Returns the shares of the concurrent requests.
    pub(crate) fn requests(&self) -> &Shares {
        &self.requests
    }

    /// Applies another configuration to requests that begin from now on. Associations aren't touched.
    ///
    /// # Errors
    /// If it contradicts itself; nothing has changed then.
    pub fn reload(&self, config: &Configuration, guard: Arc<Guard>) -> Result<(), ProgramError> {
        let earlier = self.live();
        let live = ActiveConfig::new(config, guard, self.connects.clone(), Some(&earlier))?;
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        self.forget_ways(&earlier);
        Ok(())
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
        let function = self.live().functions.of(root, None);
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

    /// Returns the configuration in effect.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        self.live().configuration.clone()
    }

    /// Returns the rules in effect.
    pub(crate) fn guard(&self) -> Arc<Guard> {
        self.live().guard.clone()
    }

    /// Returns when the certificate for local network functions expires, in seconds since the Unix epoch.
    pub(crate) fn functions_end(&self) -> Option<u64> {
        self.live().functions_end
    }

    /// Returns the associations with peers.
    pub fn associations(&self) -> &Arc<Associations> {
        &self.associations
    }

    /// Returns the current state.
    fn live(&self) -> Arc<ActiveConfig> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn observer(&self) -> &dyn Observer {
        &*self.observer
    }
}
