//! The composition: what the listeners of a SEPP answer.
//!
//! | module | what it is for |
//! |---|---|
//! | [`policy`] | the configuration, made ready to be asked for each request |
//! | `live` | all that a request is handled by, exchanged at a reload |
//! | `control` | N32-c |
//! | `outgoing`, `incoming` | the way of a request, in both directions |
//! | `route` | which peer a request is for |
//! | `forgotten` | peers that were restarted |
//! | `look` | bodies that are looked into, and those that stream through |
//! | `link`, `functions`, `places` | connections to peers and to own network functions |
//! | `reaching` | whether peers can be reached on N32-f |
//! | [`connects`] | makes them: with TLS in a program, as they like in tests |
//! | [`observer`] | is told what happens, for metrics and security events |
//! | [`transport`] | carries N32-c to peers |
//! | [`assembled`] | all of it with TLS, at the start and at a reload |

pub mod assembled;
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
pub mod transport;

use std::sync::{Arc, PoisonError, RwLock};

use http::{Request, Response};
use tessera_kit::ProgramError;
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::Call;
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;

use self::connects::Connects;
use self::live::Live;
use self::observer::Observer;
use crate::config::Configuration;
use crate::guard::Guard;
use crate::n32c::Associations;
use crate::names::Fqdn;
use crate::sbi::api_root::ApiRoot;
use crate::sbi::request as passing;

/// A Security Edge Protection Proxy, without its listeners: [`sbi`](Self::sbi) answers own network functions,
/// [`n32`](Self::n32) answers peers.
pub struct Sepp {
    live: RwLock<Arc<Live>>,
    associations: Arc<Associations>,
    connects: Arc<dyn Connects>,
    observer: Arc<dyn Observer>,
    /// Told when a peer can be reached, or can't any more.
    ways: watch::Sender<()>,
}

impl Sepp {
    /// Of a checked configuration.
    ///
    /// # Errors
    /// If the configuration contradicts itself.
    pub fn new(
        config: &Configuration,
        guard: Arc<Guard>,
        associations: Arc<Associations>,
        connects: Arc<dyn Connects>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, ProgramError> {
        let live = Live::new(config, guard, connects.clone(), None)?;
        let (live, ways) = (RwLock::new(Arc::new(live)), watch::Sender::new(()));
        Ok(Self { live, associations, connects, observer, ways })
    }

    /// Goes on with another configuration: requests that begin from now on. Associations aren't touched.
    ///
    /// # Errors
    /// If it contradicts itself. Nothing has changed then.
    pub fn reload(&self, config: &Configuration, guard: Arc<Guard>) -> Result<(), ProgramError> {
        let earlier = self.live();
        let live = Live::new(config, guard, self.connects.clone(), Some(&earlier))?;
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        self.forget_ways(&earlier);
        Ok(())
    }

    /// Sends a request of this SEPP itself to an own network function; its URI is a path alone.
    ///
    /// # Errors
    /// If there is no answer: why.
    pub(crate) async fn ask_own(
        &self,
        root: &ApiRoot<'_>,
        request: Request<Body>,
        deadline: Deadline,
    ) -> Result<Response<Body>, String> {
        let function =
            self.live().functions.of(root).map_err(|problem| problem.detail.into_owned())?;
        let (mut parts, body) = request.into_parts();
        passing::address(&mut parts, &function.scheme, &function.authority, root.prefix)
            .map_err(|problem| problem.detail.into_owned())?;
        let request = Request::from_parts(parts, body);
        let answer = function.pool.call(request, Call::until(deadline)).await;
        answer.map(|answer| answer.response).map_err(|error| error.to_string())
    }

    /// Ends this SEPP's connections of N32-f to a peer, which is known by this name; requests under way end first. The
    /// next request makes another one.
    pub fn close(&self, peer: &Fqdn) {
        let live = self.live();
        if let Some(peer) = live.policy.named(peer) {
            live.close(peer);
        }
    }

    /// Ends this SEPP's connections of N32-f whose association holds no more: to be called when one has changed
    /// ([`Associations::watch`]).
    pub fn close_ended(&self) {
        self.live().close_ended(&self.associations);
    }

    /// What was agreed with peers.
    pub fn associations(&self) -> &Arc<Associations> {
        &self.associations
    }

    /// What is in use now.
    fn live(&self) -> Arc<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn observer(&self) -> &dyn Observer {
        &*self.observer
    }
}
