//! What was agreed with each peer, and how it comes to that.
//!
//! A [`Machine`](machine::Machine) for each peer decides, without input, output or a clock of its own;
//! [`Associations`] has them all and runs them.

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

pub use self::associations::{Associations, NotEstablished, PeerStatus};
pub use self::event::{Event, Observer, Role};
pub use self::machine::{State, TerminatedBy};
pub use self::settings::{LocalSettings, PeerSettings, Settings};
pub use super::failure::Failure;
use super::messages::{Features, HandshakeId, N32Purpose};
pub use super::refusal::{Refusal, Rule};
pub use crate::identity::AssociationId;
use crate::identity::CertificateIdentity;
use crate::names::{Fqdn, PlmnSet};

/// What two SEPPs agreed on over N32-c. N32-f between them is allowed as long as it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Association {
    /// Which one it is.
    pub id: AssociationId,
    /// The peer, as the configuration names it.
    pub peer: Fqdn,
    /// Who the peer proved to be on N32-c. What it proves on N32-f must be within that (TS 33.501 §13.1.2).
    pub certificate: CertificateIdentity,
    /// The networks that the peer speaks for: all within its certificate, its trust anchor and the configuration.
    pub plmns: PlmnSet,
    /// Whether both route by the header `3gpp-Sbi-Target-apiRoot`.
    pub target_api_root: bool,
    /// Optional features that both have.
    pub features: Features,
    /// What it is for. `None`: neither side said.
    pub purposes: Option<BTreeSet<N32Purpose>>,
    /// The name under which the peer takes N32-f. Its certificate on N32-f has to have it.
    pub n32f_fqdn: Fqdn,
    /// The ports at which the peer takes N32-f; empty if it didn't say.
    pub n32f_ports: Vec<u16>,
    /// How long a connection of N32-f may be quiet before its peer is asked whether it lives.
    pub keep_alive: Duration,
    /// The exchange that brought it about. `None`: the peer, of release 18, gave none.
    pub handshake_id: Option<HandshakeId>,
    /// Since when it holds.
    pub since: Instant,
}

impl fmt::Display for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {}", self.id, self.peer)
    }
}

#[cfg(test)]
pub(crate) mod tests;
