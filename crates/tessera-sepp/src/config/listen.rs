//! Where this SEPP listens.

use serde::Deserialize;

use super::ListenAddress;

/// `[listen]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Listen {
    /// For requests of local network functions: `127.0.0.1:7777`, `systemd:NAME`.
    pub sbi: ListenAddress,
    /// For N32-c: `:7443`.
    pub n32c: ListenAddress,
    /// For N32-f: `:7444`. If it equals `n32c`, both share a listener.
    pub n32f: ListenAddress,
}

impl Listen {
    /// Returns whether N32-c and N32-f share a listener.
    pub fn is_shared(&self) -> bool {
        self.n32c == self.n32f
    }
}
