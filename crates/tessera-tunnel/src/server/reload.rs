//! Reloads files and settings while connections run.

use std::sync::{Arc, PoisonError};

use tessera_kit::ProgramError;
use tessera_kit::live::Changes;
use tessera_proxy::changes::{LastingKeys as _, PreparedReload};

use super::{ServerEnd, Settings};
use crate::config::ServerSection;
use crate::metrics::ReloadResult;
use crate::tls;

impl ServerEnd {
    /// Reloads the files, for a section that may have changed, without applying anything yet: so that several tunnels
    /// can be reloaded together or not at all. Blocks while it reads files, and while another reload is prepared.
    /// Exchanging ends connections whose peer is no longer allowed.
    ///
    /// # Errors
    /// If something can't be loaded, or a change needs a restart.
    pub fn prepare(
        &self,
        section: ServerSection,
    ) -> Result<PreparedReload<'_, Changes>, ProgramError> {
        let failed = |_: &_| self.shared.metrics.reloads.count(ReloadResult::Failed);
        self.load(section).inspect_err(failed)
    }

    /// Reloads the files and applies them: see [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If something can't be loaded, or a change needs a restart. Nothing has changed then.
    pub fn reload(&self, section: ServerSection) -> Result<Changes, ProgramError> {
        self.prepare(section).map(PreparedReload::exchange)
    }

    fn load(&self, section: ServerSection) -> Result<PreparedReload<'_, Changes>, ProgramError> {
        let shared = &*self.shared;
        let kept = shared.settings().section.keep(&mut section.clone());
        // An end by itself, without confinement, can change its backend.
        if let Some(key) = kept.iter().find(|key| *key != "forward") {
            return Err(ProgramError::settings(format!(
                "[server.{}] {key} has changed, which needs a restart; the other changes were not loaded either",
                shared.name
            )));
        }
        let stores = shared.stores.load_again()?;
        let tls = shared.live.prepare(|| tls::server(&shared.name, &section, &shared.stores))?;
        let settings = Arc::new(Settings::new(section));
        Ok(PreparedReload::new(move || {
            let changes = tls.exchange();
            shared.stores.exchange(stores);
            *shared.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
            shared.metrics.reloads.count(ReloadResult::Reloaded);
            // Wakes connections, which check what they rely on.
            shared.reloads.send_replace(());
            changes
        }))
    }
}
