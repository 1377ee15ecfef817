//! TLS configurations of both ends, from the files that a section names: at the start, and again at each reload.

mod backend_first;
mod client;
mod credential;
mod server;

use tessera::crypto::Provider;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::{ProgramError, names};

use crate::config::End;

pub use client::client;
pub(crate) use credential::warning;
pub use server::server;

impl End<'_> {
    fn provider(&self) -> Provider {
        names::provider(self.groups)
    }

    /// Puts the section's choice in the place of the provider's.
    fn choose(&self, groups: &mut Vec<NamedGroup>, suites: &mut Vec<CipherSuite>) {
        if !self.groups.is_empty() {
            *groups = self.groups.to_vec();
        }
        if !self.suites.is_empty() {
            *suites = self.suites.to_vec();
        }
    }

    /// What the engine finds wrong with a configuration, by the key of the section: the engine knows its own fields
    /// alone.
    fn by_key(&self, error: tessera::Error) -> ProgramError {
        let tessera::Error::Configuration(what) = error else { return error.into() };
        let Some((field, advice)) = what.split_once(": ") else { return error.into() };
        let key = match field {
            "credentials" => "certificate",
            "verifier" => "peers",
            "external_psks" => "peers.psk-file",
            "handshake_timeout" => "limits.handshake",
            other => other,
        };
        ProgramError::settings(format!("{}: {advice}", self.setting(key)))
    }
}
