//! Connections with TLS as the configuration in effect requires it when they begin: listeners, and pools to unchanged
//! destinations, outlive configurations.

use std::io;
use std::sync::{Arc, Weak};

use tessera::ServerConfig;
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera_kit::ProgramError;
use tessera_proxy::dial::Dialler;
use tessera_proxy::http::client::{Connect, Connecting, Plaintext, Protocol, Tls};
use tessera_proxy::stores::Stores;
use tessera_tokio::{Acceptor, Connector};

use super::functions::FunctionRoute;
use super::link::Link;
use super::live::{ActiveConfig, Live};
use super::policy::PeerIndex;
use crate::identity::Listener;
use crate::n32c::Association;
use crate::names::Fqdn;
use crate::sbi::api_root::{ApiRoot, Scheme};
use crate::sbi::errors::Problem;

/// TLS of the listeners.
pub(super) struct Acceptors {
    /// One of N32-c and one of N32-f, or one for both.
    pub(super) of_peers: Vec<Acceptor>,
    pub(super) of_functions: Option<Acceptor>,
}

/// Creates what opens and accepts connections. Weak: pools are in the value that they look into.
#[derive(Clone)]
pub(super) struct ConnectionFactory(pub(super) Weak<Live>);

impl ConnectionFactory {
    /// To N32-c of this peer: a full handshake with certificates, and no early data. Its certificate must contain
    /// `name`: the peer's own, or the one that it redirected to.
    pub(super) fn n32c(&self, peer: &Fqdn, name: &Fqdn) -> Arc<dyn Connect> {
        let peer = peer.clone();
        self.tls(name.as_str(), move |live| Some(live.tls.to(&peer)?.n32c))
    }

    /// To N32-f of this peer. Its certificate must contain `name`: the peer's own, or the one announced over N32-c.
    fn n32f(&self, peer: &Fqdn, name: &Fqdn) -> Arc<dyn Connect> {
        let peer = peer.clone();
        self.tls(name.as_str(), move |live| Some(live.tls.to(&peer)?.n32f))
    }

    /// To the local network function with this name.
    fn function(&self, scheme: Scheme, name: &str) -> Arc<dyn Connect> {
        match scheme {
            // TS 29.500 §5.2.1: HTTP/2, with prior knowledge where there is no TLS.
            Scheme::Http => Arc::new(Plaintext(Protocol::Http2)),
            Scheme::Https => self.tls(name, |live| live.to_functions.clone()),
        }
    }

    /// Returns how to reach a local network function, for a request of this peer or of this SEPP.
    pub(super) fn route(
        &self,
        live: &ActiveConfig,
        target: &ApiRoot<'_>,
        peer: Option<&Fqdn>,
    ) -> Result<FunctionRoute, Problem> {
        if target.scheme == Scheme::Https && live.to_functions.is_none() {
            return Err(NO_TLS);
        }
        live.functions.of(target, peer, |scheme, name| self.function(scheme, name))
    }

    /// Returns N32-f to a peer under this association.
    pub(super) fn link(
        &self,
        live: &ActiveConfig,
        peer: PeerIndex,
        association: &Association,
    ) -> Option<Arc<Link>> {
        let (slot, epoch) = live.slot_under(peer)?;
        slot.link((association, epoch), |peer, name| self.n32f(peer, name))
    }

    /// Creates the acceptors of the listeners that the first configuration has. They find the configuration of a
    /// connection when its ClientHello arrives, and have none themselves: a connection, which lasts longer, keeps no
    /// earlier keys in memory.
    pub(super) fn acceptors(
        &self,
        live: &ActiveConfig,
        stores: &Stores,
    ) -> Result<Acceptors, ProgramError> {
        let accept = |listener: Option<Listener>| {
            let mut config = ServerConfig::new(tessera_aws_lc::provider(), Vec::new());
            config.chooser = Some(Arc::new(LiveChooser { live: self.0.clone(), listener }));
            config.handshake_timeout = live.configuration.limits.handshake;
            Ok::<_, ProgramError>(Acceptor::new(config.checked()?))
        };
        let of_peer = |listener| {
            let acceptor = accept(Some(listener))?;
            Ok(match &stores.answers {
                Some(answers) => acceptor.with_answers(answers.clone()),
                None => acceptor,
            })
        };
        let of_peers = live.tls.listeners().map(of_peer).collect::<Result<_, ProgramError>>()?;
        let of_functions = live.of_functions.as_ref().map(|_| accept(None)).transpose()?;
        Ok(Acceptors { of_peers, of_functions })
    }

    fn tls(
        &self,
        name: &str,
        find: impl Fn(&ActiveConfig) -> Option<Connector> + Send + Sync + 'static,
    ) -> Arc<dyn Connect> {
        Arc::new(LiveTls { live: self.0.clone(), name: name.to_owned(), find })
    }
}

const NO_TLS: Problem = Problem::new(
    http::StatusCode::GATEWAY_TIMEOUT,
    "TARGET_NF_NOT_REACHABLE",
    "the target uses https, but [sbi] ca is not configured",
);

struct LiveTls<F> {
    live: Weak<Live>,
    name: String,
    find: F,
}

impl<F: Fn(&ActiveConfig) -> Option<Connector> + Send + Sync> Connect for LiveTls<F> {
    fn connect<'c>(&'c self, to: &'c Dialler, early: bool) -> Connecting<'c> {
        let found = self.live.upgrade().and_then(|live| (self.find)(&live.borrow()));
        Box::pin(async move {
            let gone = || io::Error::other("the configuration no longer has this destination");
            let tls = Tls::new(found.ok_or_else(gone)?).named(&*self.name);
            Connect::connect(&tls, to, early).await
        })
    }
}

/// Chooses the configuration of a connection of this listener for peers, or for local network functions.
struct LiveChooser {
    live: Weak<Live>,
    listener: Option<Listener>,
}

impl ConfigChooser for LiveChooser {
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        let live = self.live.upgrade().map(|live| live.borrow().clone());
        let config = live.as_ref().and_then(|live| match self.listener {
            Some(listener) => live.tls.choose(listener, question),
            None => live.of_functions.as_ref(),
        });
        Reply::Now(config.cloned().ok_or(NoConfig))
    }
}
