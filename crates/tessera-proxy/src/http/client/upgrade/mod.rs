//! Upgrades: a request that switches protocols, and the stream that follows it.

mod handshake;
mod http1;
mod http2;
mod stream;

use http::Response;

pub(super) use self::handshake::Handshake;
pub(super) use self::http1::switch as switch_http1;
pub(super) use self::http2::switch as switch_http2;
pub use self::stream::UpgradedStream;
use super::flight::Facts;
use crate::address::DialAddress;
use crate::http::body::Body;

/// The answer to an upgrade, and its origin.
#[derive(Debug)]
pub struct UpgradeAnswer {
    /// What the server decided.
    pub outcome: UpgradeOutcome,
    pub(super) address: DialAddress,
    pub(super) facts: Option<Facts>,
}

/// What a server decided about an upgrade.
#[derive(Debug)]
pub enum UpgradeOutcome {
    /// It switched protocols: the head of its response, without the fields of the switch, and the stream.
    Switched(Response<()>, UpgradedStream),
    /// It answered instead. The connection isn't used again.
    Refused(Response<Body>),
}

impl UpgradeAnswer {
    /// Returns the address of the server.
    pub fn address(&self) -> &DialAddress {
        &self.address
    }

    /// Returns the facts about the connection's TLS. `None` in plaintext.
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }
}
