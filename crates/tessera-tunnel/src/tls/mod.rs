//! TLS configurations of both ends, built from the files of a section: at the start, and again at each reload.

mod backend_first;
mod client;
mod credential;
mod server;

use tessera::crypto::Provider;
use tessera::wire::{CipherSuite, NamedGroup};
use tessera_kit::ProgramError;
use tessera_proxy::keys_ahead;

use crate::config::End;

pub use client::client;
pub(crate) use credential::warning;
pub use server::server;

impl End<'_> {
    fn provider(&self) -> Provider {
        keys_ahead::provider(self.groups)
    }

    /// Replaces the provider's choice with the section's, if it has one.
    fn choose(&self, groups: &mut Vec<NamedGroup>, suites: &mut Vec<CipherSuite>) {
        if !self.groups.is_empty() {
            *groups = self.groups.to_vec();
        }
        if !self.suites.is_empty() {
            *suites = self.suites.to_vec();
        }
    }

    /// Translates an error of the engine, which knows only its own fields, to one about a key of the section.
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
