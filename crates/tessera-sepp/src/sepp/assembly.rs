//! A SEPP with its TLS, built from a configuration and reloaded.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use tessera_kit::ProgramError;
use tessera_proxy::http::client::{Connect, Plaintext, Protocol, Tls};
use tessera_proxy::stores::Stores;
use tessera_tokio::Connector;

use super::Sepp;
use super::connects::ConnectorFactory;
use super::observer::Observer;
use super::transport::HttpTransport;
use crate::config::Configuration;
use crate::guard::Guard;
use crate::identity::{AssociationId, AssociationLookup, CertificateIdentity};
use crate::n32c::{self, Associations, Settings};
use crate::names::Fqdn;
use crate::sbi::api_root::Scheme;
use crate::sbi::tls;
use crate::tls::N32Tls;

/// A SEPP and its TLS.
pub struct Assembly {
    /// Answers requests.
    pub sepp: Arc<Sepp>,
    /// TLS of its listeners, and to its peers.
    pub tls: Arc<N32Tls>,
    transport: Arc<HttpTransport>,
    connects: Arc<TlsConnectors>,
}

impl Assembly {
    /// Loads the files that a checked configuration names. Where this SEPP initiates, it starts N32-c exchanges
    /// immediately.
    ///
    /// # Errors
    /// If a file can't be read or is invalid, or the files don't fit together.
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
        let tls = Arc::new(N32Tls::open(config, stores, known)?);
        let functions = tls::connector(&config.sbi)?;
        let functions = RwLock::new(functions.map(Connector::new));
        let connects = Arc::new(TlsConnectors { tls: tls.clone(), functions });
        let transport = Arc::new(HttpTransport::new(config, connects.clone()));
        let sepp = Sepp::new(config, guard, associations.clone(), connects.clone(), observer)?;
        // Nothing after this can fail.
        associations.start(transport.clone());
        Ok(Self { sepp: Arc::new(sepp), tls, transport, connects })
    }

    /// Loads the files of another checked configuration, and applies it. It blocks while it reads them, within a tokio
    /// runtime. Returns the peers that were added, removed or changed. Their connections end; those that this SEPP opened
    /// are closed already.
    ///
    /// # Errors
    /// If anything can't be loaded; nothing has changed then.
    pub fn reload(
        &self,
        config: &Configuration,
        guard: Arc<Guard>,
    ) -> Result<Vec<Fqdn>, ProgramError> {
        let prepared = self.tls.prepare(config)?;
        let functions = tls::connector(&config.sbi)?;
        self.sepp.reload(config, guard)?;
        let changed = prepared.exchange();
        {
            let mut connector =
                self.connects.functions.write().unwrap_or_else(PoisonError::into_inner);
            match (&*connector, functions) {
                (Some(connector), Some(functions)) => connector.replace(functions),
                (_, functions) => *connector = functions.map(Connector::new),
            }
        }
        self.transport.set(config);
        self.sepp.associations().set(&Settings::of(config));
        changed.iter().for_each(|peer| self.sepp.close(peer));
        Ok(changed)
    }
}

/// The associations, for TLS.
struct WeakAssociations(Weak<Associations>);

impl AssociationLookup for WeakAssociations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        AssociationLookup::established(&*self.0.upgrade()?, peer)
    }
}

/// Connects to peers with TLS, and to local network functions as their URIs require.
struct TlsConnectors {
    tls: Arc<N32Tls>,
    functions: RwLock<Option<Connector>>,
}

impl ConnectorFactory for TlsConnectors {
    fn n32c(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>> {
        Some(Arc::new(Tls::new(self.tls.to(peer)?.n32c).named(name.as_str())))
    }

    fn n32f(&self, peer: &Fqdn, name: &Fqdn) -> Option<Arc<dyn Connect>> {
        Some(Arc::new(Tls::new(self.tls.to(peer)?.n32f).named(name.as_str())))
    }

    fn function(&self, scheme: Scheme, name: &str) -> Option<Arc<dyn Connect>> {
        // TS 29.500 §5.2.1: HTTP/2, with prior knowledge where there is no TLS.
        if scheme == Scheme::Http {
            return Some(Arc::new(Plaintext(Protocol::Http2)));
        }
        let connector = self.functions.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(Arc::new(Tls::new(connector).named(name)))
    }
}
