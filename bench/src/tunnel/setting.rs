//! What the configurations of all programs say, and what each tells of its connections.

use std::net::SocketAddr;

use tessera_test_peers::Directory;

use crate::files::Files;
use crate::ways::Way;

/// What the configuration of an end has to say.
pub(crate) struct Setting<'a> {
    pub(crate) way: Way,
    pub(crate) files: &'a Files,
    pub(crate) listen: SocketAddr,
    pub(crate) connect: SocketAddr,
    /// Each connection is to be told in the log, with whether it was resumed.
    pub(crate) told: bool,
    /// Where the end's own files are.
    pub(crate) directory: &'a Directory,
}

/// How many connections were resumed, as an end says, and how many were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resumed {
    pub(crate) yes: usize,
    pub(crate) no: usize,
}

/// The cipher suite of all tunnels.
pub(crate) const SUITE: &str = "TLS_AES_128_GCM_SHA256";
/// The key exchange of all tunnels but the hybrid one.
pub(crate) const GROUP: &str = "X25519";

/// More than any benchmark makes at once.
pub(crate) const MOST_CONNECTIONS: usize = 9000;
