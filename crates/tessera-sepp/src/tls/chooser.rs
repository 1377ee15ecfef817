//! The server name that a client sends (TS 33.501 §13.1.2 requires it).

use tessera::ServerConfig;
use tessera::handshake::{Checked, ChooseConfig};

use crate::names::Fqdn;

/// The configurations from which a listener chooses that of a connection.
pub(super) struct Choices {
    /// The names of this SEPP.
    pub(super) names: Vec<Fqdn>,
    /// For clients that send one of them.
    pub(super) named: Checked<ServerConfig>,
    /// For clients that send none, if a peer may.
    pub(super) unnamed: Option<Checked<ServerConfig>>,
}

impl Choices {
    pub(super) fn choose(&self, question: &ChooseConfig) -> Option<&Checked<ServerConfig>> {
        let Some(name) = &question.server_name else { return self.unnamed.as_ref() };
        let is_ours = name.parse::<Fqdn>().is_ok_and(|name| self.names.contains(&name));
        is_ours.then_some(&self.named)
    }
}
