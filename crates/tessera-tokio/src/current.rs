//! A configuration that can be replaced while connections are made with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tessera::handshake::{Checked, Facts, Foundation};
use tessera::{ClientConfig, ServerConfig};

/// The configuration that new connections use, the same for all clones. A lock is held for as long as
/// a pointer is copied, and never while anything waits.
pub(crate) struct Current<C>(Arc<Shared<C>>);

struct Shared<C> {
    config: RwLock<Checked<C>>,
    /// Changes only while `config` is locked for writing. It can be read without the lock.
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

    /// How many configurations there have been, this one included.
    pub(crate) fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Acquire)
    }

    /// What a connection begins with.
    pub(crate) fn begin(&self) -> (Checked<C>, Begun<C>) {
        let current = self.0.config.read().unwrap_or_else(PoisonError::into_inner);
        let (config, generation) = (current.clone(), self.generation());
        let basis = Basis::Config(config.clone());
        (config, Begun { current: self.clone(), generation, basis })
    }

    /// Gives the earlier one: what belongs to its owner may do anything when it is dropped.
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

/// The configuration that a connection began with, and what counts since.
pub(crate) struct Begun<C> {
    current: Current<C>,
    pub(crate) generation: u64,
    basis: Basis<C>,
}

/// A connection that is complete keeps no configuration alive: those of long ago have old keys in them.
enum Basis<C> {
    Config(Checked<C>),
    Foundation(Option<Box<Foundation>>),
}

impl<C> Begun<C> {
    /// Whether the configuration was replaced since.
    pub(crate) fn is_earlier(&self) -> bool {
        self.generation != self.current.generation()
    }

    /// Begins again, with what counts now, if others' acceptance counts now than did in the beginning.
    pub(crate) fn again(&self) -> Option<(Checked<C>, Self)> {
        let Basis::Config(earlier) = &self.basis else { return None };
        let (config, begun) = self.current.begin();
        (!config.keeps_sessions_of(earlier)).then_some((config, begun))
    }
}

impl<C: Upholds> Begun<C> {
    /// The handshake is complete.
    pub(crate) fn complete(&mut self, facts: &Facts) {
        if let Basis::Config(config) = &self.basis {
            self.basis = Basis::Foundation(C::foundation(config, facts).map(Box::new));
        }
    }

    /// Whether what the connection rests on is withdrawn: the configuration of today would not let it
    /// come about.
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

/// A configuration that can say whether it upholds what began under an earlier one.
pub trait Upholds: Sized {
    #[doc(hidden)]
    fn foundation(config: &Checked<Self>, facts: &Facts) -> Option<Foundation>;

    #[doc(hidden)]
    fn upholds(config: &Checked<Self>, foundation: &Foundation) -> bool;
}

/// The same for both: their methods bear the same names.
macro_rules! upholds {
    ($($config:ident)*) => {$(
        impl Upholds for $config {
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
