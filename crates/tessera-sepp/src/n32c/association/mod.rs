//! What was agreed with each peer, and how it comes about.
//!
//! A `Machine` for each peer decides, without I/O or a clock; [`Associations`] holds and runs them all.

mod associations;
mod backoff;
mod event;
mod id;
mod machine;
mod negotiation;
mod offer;
mod peer;
mod settings;

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

pub use self::associations::{Associations, NoAssociation, PeerStatus};
pub(crate) use self::backoff::Backoff;
pub use self::event::{Event, Observer, Role};
pub use self::machine::{State, Terminator};
pub use self::settings::{LocalSettings, PeerSettings, Settings};
pub use super::failure::Failure;
use super::messages::{Features, HandshakeId, N32Purpose};
pub use super::refusal::{Refusal, Rule};
pub use crate::identity::AssociationId;
use crate::identity::CertificateIdentity;
use crate::names::{Fqdn, PlmnSet};

/// What two SEPPs agreed on over N32-c. It must be valid for N32-f between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// Its identifier.
    pub id: AssociationId,
    /// The peer, by its name in the configuration.
    pub peer: Fqdn,
    /// The peer's verified identity on N32-c. Its identity on N32-f must be within that (TS 33.501 §13.1.2).
    pub certificate: CertificateIdentity,
    /// The networks that the peer represents: all within its certificate, its trust anchor and the configuration.
    pub plmns: PlmnSet,
    /// Whether both route by the header `3gpp-Sbi-Target-apiRoot`.
    pub target_api_root: bool,
    /// Optional features that both have.
    pub features: Features,
    /// Its purposes. `None`: neither side named any.
    pub purposes: Option<BTreeSet<N32Purpose>>,
    /// The name under which the peer accepts N32-f. Its certificate on N32-f must contain it.
    pub n32f_fqdn: Fqdn,
    /// The ports at which the peer accepts N32-f; empty if it named none.
    pub n32f_ports: Vec<u16>,
    /// How long a connection of N32-f may be quiet before a keep-alive check.
    pub keep_alive: Duration,
    /// The exchange that established it. `None`: the peer, of release 18, sent none.
    pub handshake_id: Option<HandshakeId>,
    /// When it was established.
    pub since: Instant,
}

impl fmt::Display for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.id, self.peer)
    }
}

#[cfg(test)]
pub(crate) mod tests;
