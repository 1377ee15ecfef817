//! Servers of other makers as members of the ring: each is an [`Installer`](tessera_ring::Installer).

use std::time::Duration;

pub mod envoy;
pub mod files;
pub mod haproxy;
pub(crate) mod key_file;
pub mod nginx;

/// How often a sidecar checks what its servers hold: a server may have been restarted, or have got keys from elsewhere.
const CHECK_EVERY: Duration = Duration::from_secs(10);
