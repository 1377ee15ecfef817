//! The server name that a client sends (TS 33.501 §13.1.2 requires it).

use std::sync::{PoisonError, RwLock};

use tessera::ServerConfig;
use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};

use crate::names::Fqdn;

/// Chooses the configuration of a listener's connections. It survives reloads: a connection continues as long as its
/// peer is still accepted, which [`Standing`](crate::reconnection::Standing) decides.
pub(super) struct NameChooser(RwLock<Choices>);

/// The configurations to choose from.
pub(super) struct Choices {
    /// The names of this SEPP.
    pub(super) names: Vec<Fqdn>,
    /// For clients that send one of them.
    pub(super) named: Checked<ServerConfig>,
    /// For clients that send none, if a peer may.
    pub(super) unnamed: Option<Checked<ServerConfig>>,
}

impl NameChooser {
    pub(super) fn new(choices: Choices) -> Self {
        Self(RwLock::new(choices))
    }

    pub(super) fn replace(&self, choices: Choices) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = choices;
    }
}

impl ConfigChooser for NameChooser {
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        let choices = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let config = match &question.server_name {
            None => choices.unnamed.as_ref(),
            Some(name) => {
                let is_ours = name.parse::<Fqdn>().is_ok_and(|name| choices.names.contains(&name));
                is_ours.then_some(&choices.named)
            }
        };
        Reply::Now(config.cloned().ok_or(NoConfig))
    }
}
