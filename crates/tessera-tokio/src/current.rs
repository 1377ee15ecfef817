//! A configuration that can be replaced while connections are made with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tessera::handshake::{Checked, Facts};
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
    pub(crate) fn begin(&self) -> Begun<C> {
        let config = self.0.config.read().unwrap_or_else(PoisonError::into_inner);
        let generation = self.generation();
        Begun { current: self.clone(), config: config.clone(), generation }
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
    pub(crate) config: Checked<C>,
    pub(crate) generation: u64,
}

impl<C> Begun<C> {
    /// Whether the configuration was replaced since.
    pub(crate) fn is_earlier(&self) -> bool {
        self.generation != self.current.generation()
    }

    /// Begins again, with what counts now.
    pub(crate) fn again(&self) -> Self {
        self.current.begin()
    }
}

impl<C: Upholds> Begun<C> {
    /// Whether what the connection rests on is withdrawn: the configuration of today would not let it
    /// come about.
    pub(crate) fn is_withdrawn(&self, facts: &Facts) -> bool {
        self.is_earlier() && !C::upholds(&self.current.get(), &self.config, facts)
    }
}

/// A configuration that can say whether it upholds what began under an earlier one.
pub trait Upholds: Sized {
    #[doc(hidden)]
    fn upholds(own: &Checked<Self>, earlier: &Checked<Self>, facts: &Facts) -> bool;
}

impl Upholds for ServerConfig {
    fn upholds(own: &Checked<Self>, earlier: &Checked<Self>, facts: &Facts) -> bool {
        own.upholds(earlier, facts)
    }
}

impl Upholds for ClientConfig {
    fn upholds(own: &Checked<Self>, earlier: &Checked<Self>, facts: &Facts) -> bool {
        own.upholds(earlier, facts)
    }
}
