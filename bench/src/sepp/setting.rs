//! The measured proxies, and the parameters of each end's configuration.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_test_peers::Directory;

use crate::files::Files;

/// Whose proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Envoy,
    Nghttpx,
    /// Ours, with one peer.
    Sepp,
    /// Ours, with 100 peers and 1,000 networks.
    SeppOfMany,
    /// Ours, which ends connections that are idle for so long.
    SeppThatEnds {
        comeback: Comeback,
        idle: Duration,
    },
}

/// How the next request after the end of a connection comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comeback {
    /// After a resumed handshake.
    Resumed,
    /// In the first flight, as forward-secret early data.
    Early,
}

impl Comeback {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Early => "in the first flight",
        }
    }
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Envoy => "Envoy",
            Self::Nghttpx => "nghttpx",
            Self::Sepp => "Tessera, one peer",
            Self::SeppOfMany => "Tessera, 100 peers, 1,000 networks",
            Self::SeppThatEnds { .. } => "Tessera, idle connections end",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        !matches!(self, Self::Envoy | Self::Nghttpx)
    }
}

/// The suite of all of them: every end knows it, and computes it in hardware.
pub(crate) const SUITE: &str = "TLS_AES_128_GCM_SHA256";

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Visited,
    Home,
}

/// The parameters of an end's configuration.
pub(crate) struct Setting<'a> {
    pub(crate) way: Way,
    pub(crate) end: End,
    pub(crate) files: &'a Files,
    /// The address for the own network functions at the visited end, and for N32-f at the home end.
    pub(crate) listen: SocketAddr,
    /// Where N32-f is at the home end.
    pub(crate) n32f: SocketAddr,
    /// What else each end listens on: ours for N32-c, Envoy for its administrator.
    pub(crate) others: [SocketAddr; 2],
    pub(crate) network_function: SocketAddr,
    /// For its own files.
    pub(crate) directory: &'a Directory,
}
