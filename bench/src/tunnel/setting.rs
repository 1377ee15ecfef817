//! The parameters of all programs' configurations, and what each logs of its connections.

use std::net::SocketAddr;

use tessera_test_peers::Directory;

use crate::files::Files;
use crate::ways::Way;

/// The parameters of an end's configuration.
pub(crate) struct Setting<'a> {
    pub(crate) way: Way,
    pub(crate) files: &'a Files,
    pub(crate) listen: SocketAddr,
    pub(crate) connect: SocketAddr,
    /// Whether it logs each connection, and whether that was resumed.
    pub(crate) logs_connections: bool,
    /// Where the end's own files are.
    pub(crate) directory: &'a Directory,
}

/// How many connections were resumed according to an end, and how many were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResumptionCount {
    pub(crate) yes: usize,
    pub(crate) no: usize,
}

/// The cipher suite of all tunnels.
pub(crate) const SUITE: &str = "TLS_AES_128_GCM_SHA256";
/// The key exchange of all tunnels but the hybrid one.
pub(crate) const GROUP: &str = "X25519";

/// More than any benchmark makes at once.
pub(crate) const MOST_CONNECTIONS: usize = 9000;
