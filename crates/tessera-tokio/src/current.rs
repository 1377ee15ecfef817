//! A configuration that can be replaced while connections are made with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tessera::auth::PeerRejected;
use tessera::handshake::{Checked, Facts, Foundation};
use tessera::wire::AlertDescription;
use tessera::{ClientConfig, ServerConfig};

/// The configuration that new connections use, shared by all clones. The lock is held only while a pointer is
/// copied, never across a wait.
pub(crate) struct Current<C>(Arc<Shared<C>>);

struct Shared<C> {
    config: RwLock<Checked<C>>,
    /// Changes only while `config` is locked for writing. Readable without the lock.
    generation: AtomicU64,
}

impl<C> Current<C> {
    pub(crate) fn new(config: Checked<C>) -> Self {
        let generation = AtomicU64::new(1);
        Self(Arc::new(Shared { config: RwLock::new(config), generation }))
    }

    pub(crate) fn get(&self) -> Checked<C> {
        self.0.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how many configurations there have been, this one included.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// Returns what a new connection starts with.
    pub(crate) fn begin(&self) -> (Checked<C>, InitialConfig<C>) {
        let current = self.0.config.read().unwrap_or_else(PoisonError::into_inner);
        let (config, generation) = (current.clone(), self.generation());
        let basis = Basis::Config(config.clone());
        (config, InitialConfig { current: self.clone(), generation, basis })
    }

    /// Returns the earlier one, so that it is dropped outside the lock: dropping it may run arbitrary code.
    pub(crate) fn replace(&self, config: Checked<C>) -> Checked<C> {
        let mut current = self.0.config.write().unwrap_or_else(PoisonError::into_inner);
        self.0.generation.fetch_add(1, Ordering::Release);
        std::mem::replace(&mut *current, config)
    }
}

impl<C> Clone for Current<C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The configuration that a connection began with, and the current one.
pub(crate) struct InitialConfig<C> {
    current: Current<C>,
    pub(crate) generation: u64,
    basis: Basis<C>,
}

/// A complete connection keeps no configuration alive: an old configuration holds old keys.
enum Basis<C> {
    Config(Checked<C>),
    Foundation(Option<Box<Foundation>>),
}

impl<C> InitialConfig<C> {
    /// Whether the configuration was replaced since.
    pub(crate) fn is_earlier(&self) -> bool {
        self.generation != self.current.generation()
    }

    /// Begins again with the current configuration, if that one doesn't keep sessions of the earlier one.
    pub(crate) fn again(&self) -> Option<(Checked<C>, Self)> {
        let Basis::Config(earlier) = &self.basis else { return None };
        let (config, begun) = self.current.begin();
        (!config.keeps_sessions_of(earlier)).then_some((config, begun))
    }
}

impl<C: Continuity> InitialConfig<C> {
    /// Notes that the handshake is complete.
    pub(crate) fn complete(&mut self, facts: &Facts) {
        if let Basis::Config(config) = &self.basis {
            self.basis = Basis::Foundation(C::foundation(config, facts).map(Box::new));
        }
    }

    /// Whether what the connection depends on is withdrawn: the current configuration would not allow it.
    pub(crate) fn is_withdrawn(&self, facts: &Facts) -> bool {
        if !self.is_earlier() {
            return false;
        }
        let upholds = |foundation: &Foundation| C::upholds(&self.current.get(), foundation);
        match &self.basis {
            Basis::Config(config) => {
                C::foundation(config, facts).is_some_and(|foundation| !upholds(&foundation))
            }
            Basis::Foundation(foundation) => {
                foundation.as_deref().is_some_and(|foundation| !upholds(foundation))
            }
        }
    }
}

/// Returns why a handshake ends whose basis is withdrawn.
pub(crate) fn withdrawn() -> PeerRejected {
    PeerRejected {
        alert: AlertDescription::ACCESS_DENIED,
        reason: "trust in it was withdrawn during the handshake".into(),
    }
}

/// A configuration that knows whether it upholds what began under an earlier one.
pub trait Continuity: Sized {
    #[doc(hidden)]
    fn foundation(config: &Checked<Self>, facts: &Facts) -> Option<Foundation>;

    #[doc(hidden)]
    fn upholds(config: &Checked<Self>, foundation: &Foundation) -> bool;
}

/// Both configurations have methods of the same names.
macro_rules! upholds {
    ($($config:ident)*) => {$(
        impl Continuity for $config {
            fn foundation(config: &Checked<Self>, facts: &Facts) -> Option<Foundation> {
                config.foundation(facts)
            }

            fn upholds(config: &Checked<Self>, foundation: &Foundation) -> bool {
                config.upholds(foundation)
            }
        }
    )*};
}

upholds!(ServerConfig ClientConfig);
