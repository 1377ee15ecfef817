//! Files and settings that are loaded again while connections run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_kit::ProgramError;
use tessera_kit::live::{self, Changes, LiveConfig};
use tessera_proxy::changes::Lasting as _;
use tessera_tokio::Acceptor;

use super::{ServerEnd, Settings};
use crate::config::ServerSection;
use crate::metrics::ReloadResult;
use crate::tls;
use tessera_proxy::stores::{LoadedAgain, Stores};

/// The section that is loaded next.
pub(super) type Wanted = Arc<Mutex<ServerSection>>;

/// What loads the TLS configuration again. The stores stay.
pub(super) fn live(
    name: &str,
    wanted: &Wanted,
    stores: &Stores,
    acceptor: &Acceptor,
) -> LiveConfig<Acceptor> {
    let (name, wanted, stores) = (name.to_owned(), wanted.clone(), stores.clone());
    LiveConfig::new(acceptor.clone(), move || {
        let section = lock(&wanted).clone();
        tls::server(&name, &section, &stores)
    })
}

/// What was loaded again for one server end, and is not in use yet. Dropped, it changes nothing.
#[must_use = "it is in use only when it is exchanged"]
pub struct Prepared<'e> {
    end: &'e ServerEnd,
    tls: live::Prepared<'e, Acceptor>,
    stores: LoadedAgain,
    settings: Arc<Settings>,
}

impl ServerEnd {
    /// Loads the files again, by a section that may have changed, and changes nothing yet: for several tunnels that are
    /// exchanged together or not at all. It blocks while it reads files, and while another one is prepared.
    ///
    /// # Errors
    /// If something can't be loaded, or what changed needs a restart.
    pub fn prepare(&self, section: ServerSection) -> Result<Prepared<'_>, ProgramError> {
        let prepared = self.load(section);
        if prepared.is_err() {
            self.shared.metrics.reloads.count(ReloadResult::Failed);
        }
        prepared
    }

    /// Loads the files again, and exchanges them: see [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If something can't be loaded, or what changed needs a restart. Nothing has changed then.
    pub fn reload(&self, section: ServerSection) -> Result<Changes, ProgramError> {
        self.prepare(section).map(Prepared::exchange)
    }

    fn load(&self, section: ServerSection) -> Result<Prepared<'_>, ProgramError> {
        let shared = &self.shared;
        let kept = shared.settings().section.keep(&mut section.clone());
        // An end by itself can go to another backend.
        if let Some(key) = kept.iter().find(|key| *key != "forward") {
            return Err(ProgramError::settings(format!(
                "[server.{}] {key} has changed: that needs a restart, and the rest was not loaded either",
                shared.name
            )));
        }
        let stores = shared.stores.load_again()?;
        let _turn = lock(&shared.turn);
        *lock(&shared.wanted) = section.clone();
        let tls = shared.live.prepare()?;
        Ok(Prepared { end: self, tls, stores, settings: Arc::new(Settings::new(section)) })
    }
}

impl Prepared<'_> {
    /// Exchanges it. Connections whose peer is not allowed any more end.
    pub fn exchange(self) -> Changes {
        let shared = &self.end.shared;
        let changes = self.tls.exchange();
        shared.stores.exchange(self.stores);
        *shared.settings.write().unwrap_or_else(PoisonError::into_inner) = self.settings;
        shared.metrics.reloads.count(ReloadResult::Reloaded);
        // Connections look at what they rest on.
        shared.reloads.send_replace(());
        changes
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
