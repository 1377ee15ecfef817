//! A configuration that can be reloaded while connections are made with it.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use tessera::ServerConfig;
//! use tessera::handshake::Checked;
//! use tessera_kit::live::LiveConfig;
//! use tessera_kit::{ProgramError, SettingFile, credential};
//! use tessera_tokio::Acceptor;
//!
//! /// Everything that may change comes from its files, each time.
//! fn load() -> Result<Checked<ServerConfig>, ProgramError> {
//!     let credential = credential::load(
//!         SettingFile { setting: "tls.certificate", path: Path::new("chain.pem") },
//!         SettingFile { setting: "tls.key", path: Path::new("key.pem") },
//!     )?;
//!     Ok(ServerConfig::new(tessera_aws_lc::provider(), vec![credential]).checked()?)
//! }
//!
//! # fn main() -> Result<(), ProgramError> {
//! let acceptor = Acceptor::new(load()?);
//! let live = LiveConfig::new(acceptor.clone(), load);
//! // At each request for a reload:
//! match live.reload() {
//!     Ok(changed) => println!("generation {}", changed.generation),
//!     Err(error) => eprintln!("the earlier configuration goes on: {error}"),
//! }
//! # Ok(())
//! # }
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tessera::auth::Credential;
use tessera::handshake::Checked;
use tessera::{ClientConfig, ServerConfig};
use tessera_tokio::{Acceptor, Connector};

use crate::error::ProgramError;

/// The configuration of an [`Acceptor`] or [`Connector`], reloaded by [`reload`](Self::reload) as a whole or
/// not at all.
///
/// Everything is loaded before anything changes: a file that is missing, half written, unreadable or
/// inconsistent with another one leaves the earlier configuration in use. Connections that the change
/// withdraws end by themselves: see [`Acceptor::replace`] and [`Connector::replace`]. Files are not watched:
/// the process that writes them requests the reload, or a signal does
/// ([`signals::Hangups`](crate::signals::Hangups)).
pub struct LiveConfig<T: Replaceable> {
    live: LiveTarget<T>,
    load: Box<Load<T::Loaded>>,
}

/// Loads a configuration from its files.
type Load<L> = dyn Fn() -> Result<L, ProgramError> + Send + Sync;

impl<T: Replaceable> LiveConfig<T> {
    /// Manages the configuration of a target that already has its first one. `load` makes the next one: it
    /// reuses what doesn't change, such as ticket keys, vault and key log, from the first.
    pub fn new(
        target: T,
        load: impl Fn() -> Result<T::Loaded, ProgramError> + Send + Sync + 'static,
    ) -> Self {
        Self { live: LiveTarget::new(target), load: Box::new(load) }
    }

    /// Reloads the configuration and puts it into use. Blocks while it reads files: an async program should
    /// call it on a blocking thread (`tokio::task::spawn_blocking`).
    ///
    /// # Errors
    /// Returns an error if loading fails. Nothing has changed then.
    pub fn reload(&self) -> Result<Changes, ProgramError> {
        self.prepare().map(PreparedConfig::exchange)
    }

    /// Loads the configuration without using it yet: for several that are exchanged together or not at all.
    /// Blocks like [`reload`](Self::reload), and while another one is prepared.
    ///
    /// # Errors
    /// Returns an error if loading fails.
    pub fn prepare(&self) -> Result<PreparedConfig<'_, T>, ProgramError> {
        self.live.prepare(&self.load)
    }

    /// What has happened until now.
    pub fn counts(&self) -> LiveCounts {
        self.live.counts()
    }

    /// Whose configuration it is.
    pub fn target(&self) -> &T {
        &self.live.target
    }
}

/// The same where each reload brings what loads it.
pub struct LiveTarget<T: Replaceable> {
    target: T,
    /// One reload at a time.
    turn: Mutex<()>,
    counts: Mutex<LiveCounts>,
}

impl<T: Replaceable> LiveTarget<T> {
    /// Keeps the configuration of a target, which has the first one already.
    pub fn new(target: T) -> Self {
        let counts = LiveCounts {
            generation: target.generation(),
            loaded_at: SystemTime::now(),
            reloads: 0,
            failures: 0,
            failed_since: None,
        };
        Self { target, turn: Mutex::new(()), counts: Mutex::new(counts) }
    }

    /// Loads a configuration, and changes nothing yet: see [`LiveConfig::prepare`].
    ///
    /// # Errors
    /// If something can't be loaded.
    pub fn prepare(
        &self,
        load: impl FnOnce() -> Result<T::Loaded, ProgramError>,
    ) -> Result<PreparedConfig<'_, T>, ProgramError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match load() {
            Ok(config) => Ok(PreparedConfig { live: self, config, _turn: turn }),
            Err(error) => {
                let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
                counts.failures += 1;
                counts.failed_since.get_or_insert(SystemTime::now());
                Err(error)
            }
        }
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> LiveCounts {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A configuration that was loaded but is not in use yet. Dropping it changes nothing.
#[must_use = "it is in use only when it is exchanged"]
pub struct PreparedConfig<'l, T: Replaceable> {
    live: &'l LiveTarget<T>,
    config: T::Loaded,
    _turn: MutexGuard<'l, ()>,
}

impl<T: Replaceable> PreparedConfig<'_, T> {
    /// Puts it into use.
    pub fn exchange(self) -> Changes {
        let target = &self.live.target;
        let mut changed = T::compare(&target.loaded(), &self.config);
        target.replace(self.config);
        changed.generation = target.generation();
        let mut counts = self.live.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.generation = changed.generation;
        counts.loaded_at = SystemTime::now();
        counts.reloads += 1;
        counts.failed_since = None;
        changed
    }
}

/// How often a configuration was reloaded, and since when the current one is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveCounts {
    /// Generation of the current configuration; the first is 1.
    pub generation: u64,
    /// When it was loaded.
    pub loaded_at: SystemTime,
    /// Successful reloads.
    pub reloads: u64,
    /// Failed reloads.
    pub failures: u64,
    /// Since when it has been outdated: the first failure after the last successful reload.
    pub failed_since: Option<SystemTime>,
}

/// What a reload changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Generation of the new configuration.
    pub generation: u64,
    /// This side presents other certificates. That ends no session.
    pub certificates: bool,
    /// The verifier's policy or the policy epoch changed: sessions of all peers accepted before have ended.
    pub peers: bool,
    /// Server only: an external PSK was removed or has another secret, and the sessions that began with it
    /// have ended.
    pub psks: bool,
}

/// A holder of a replaceable configuration: [`Acceptor`], [`Connector`], and pairs of these, which are
/// replaced together or not at all. A pair has the generation of its first element.
pub trait Replaceable: sealed::Sealed {
    /// What is loaded for it.
    type Loaded;

    #[doc(hidden)]
    fn loaded(&self) -> Self::Loaded;

    #[doc(hidden)]
    fn replace(&self, loaded: Self::Loaded);

    #[doc(hidden)]
    fn generation(&self) -> u64;

    #[doc(hidden)]
    fn compare(earlier: &Self::Loaded, loaded: &Self::Loaded) -> Changes;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Acceptor {}
    impl Sealed for super::Connector {}
    impl<A: Sealed, B: Sealed> Sealed for (A, B) {}
}

/// Both have methods of the same names.
macro_rules! replaceable {
    ($target:ident, $config:ident, $psks:expr) => {
        impl Replaceable for $target {
            type Loaded = Checked<$config>;

            fn loaded(&self) -> Checked<$config> {
                self.config()
            }

            fn replace(&self, config: Checked<$config>) {
                $target::replace(self, config);
            }

            fn generation(&self) -> u64 {
                $target::generation(self)
            }

            fn compare(earlier: &Checked<$config>, config: &Checked<$config>) -> Changes {
                Changes {
                    generation: 0,
                    certificates: chains(&earlier.credentials).ne(chains(&config.credentials)),
                    peers: !config.keeps_sessions_of(earlier),
                    psks: $psks(earlier, config),
                }
            }
        }
    };
}

replaceable!(Acceptor, ServerConfig, |earlier, config: &Checked<ServerConfig>| {
    !config.keeps_psks_of(earlier)
});
replaceable!(Connector, ClientConfig, |_, _| false);

impl<A: Replaceable, B: Replaceable> Replaceable for (A, B) {
    type Loaded = (A::Loaded, B::Loaded);

    fn loaded(&self) -> Self::Loaded {
        (self.0.loaded(), self.1.loaded())
    }

    fn replace(&self, loaded: Self::Loaded) {
        self.0.replace(loaded.0);
        self.1.replace(loaded.1);
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn compare(earlier: &Self::Loaded, loaded: &Self::Loaded) -> Changes {
        let (one, other) = (A::compare(&earlier.0, &loaded.0), B::compare(&earlier.1, &loaded.1));
        Changes {
            generation: 0,
            certificates: one.certificates || other.certificates,
            peers: one.peers || other.peers,
            psks: one.psks || other.psks,
        }
    }
}

fn chains(credentials: &[Credential]) -> impl Iterator<Item = &[Vec<u8>]> {
    credentials.iter().map(|credential| credential.chain.as_slice())
}
