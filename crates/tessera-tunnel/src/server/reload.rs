//! Files and settings that are loaded again while connections run.

use std::sync::{Arc, PoisonError};

use tessera_kit::ProgramError;
use tessera_kit::live::Changes;
use tessera_proxy::changes::{Lasting as _, Prepared};

use super::{ServerEnd, Settings};
use crate::config::ServerSection;
use crate::metrics::ReloadResult;
use crate::tls;

impl ServerEnd {
    /// Loads the files again, by a section that may have changed, and changes nothing yet: for several tunnels that are
    /// exchanged together or not at all. It blocks while it reads files, and while another one is prepared. Exchanged,
    /// it ends connections whose peer is not allowed any more.
    ///
    /// # Errors
    /// If something can't be loaded, or what changed needs a restart.
    pub fn prepare(&self, section: ServerSection) -> Result<Prepared<'_, Changes>, ProgramError> {
        let failed = |_: &_| self.shared.metrics.reloads.count(ReloadResult::Failed);
        self.load(section).inspect_err(failed)
    }

    /// Loads the files again, and exchanges them: see [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If something can't be loaded, or what changed needs a restart. Nothing has changed then.
    pub fn reload(&self, section: ServerSection) -> Result<Changes, ProgramError> {
        self.prepare(section).map(Prepared::exchange)
    }

    fn load(&self, section: ServerSection) -> Result<Prepared<'_, Changes>, ProgramError> {
        let shared = &*self.shared;
        let kept = shared.settings().section.keep(&mut section.clone());
        // An end by itself can go to another backend.
        if let Some(key) = kept.iter().find(|key| *key != "forward") {
            return Err(ProgramError::settings(format!(
                "[server.{}] {key} has changed: that needs a restart, and the rest was not loaded either",
                shared.name
            )));
        }
        let stores = shared.stores.load_again()?;
        let tls = shared.live.prepare(|| tls::server(&shared.name, &section, &shared.stores))?;
        let settings = Arc::new(Settings::new(section));
        Ok(Prepared::new(move || {
            let changes = tls.exchange();
            shared.stores.exchange(stores);
            *shared.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
            shared.metrics.reloads.count(ReloadResult::Reloaded);
            // Connections look at what they rest on.
            shared.reloads.send_replace(());
            changes
        }))
    }
}
