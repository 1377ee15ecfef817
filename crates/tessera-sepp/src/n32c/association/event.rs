//! Events on N32-c, for metrics and logs.

use std::sync::Arc;

use super::machine::State;
use crate::identity::CertificateIdentity;
use crate::n32c::failure::Failure;
use crate::n32c::messages::N32fErrorInfo;
use crate::n32c::refusal::Refusal;
use crate::names::Fqdn;

/// An event on N32-c.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An exchange of capabilities succeeded.
    Agreed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// Which side began.
        role: Role,
    },
    /// An exchange that this SEPP began failed.
    Failed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// The reason.
        failure: &'a Failure,
    },
    /// A request was refused.
    Refused {
        /// The configured peer. `None`: the certificate belongs to none.
        peer: Option<&'a Fqdn>,
        /// The sender.
        identity: &'a CertificateIdentity,
        /// The reason.
        refusal: &'a Refusal,
    },
    /// The state has changed.
    Changed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// The new state.
        state: &'a State,
    },
    /// A peer reports that one of this SEPP's messages on N32-f was wrong.
    Reported {
        /// The configured peer.
        peer: &'a Fqdn,
        /// Its report.
        error: &'a N32fErrorInfo,
    },
}

/// A side of an exchange of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The requesting side.
    Initiator,
    /// The answering side.
    Responder,
}

impl Role {
    /// Returns its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
        }
    }
}

/// Receives events. It must neither block nor call back.
pub trait Observer: Send + Sync {
    /// Handles an event.
    fn on(&self, event: &Event<'_>);
}

impl Observer for () {
    fn on(&self, _: &Event<'_>) {}
}

impl<T: Observer + ?Sized> Observer for Arc<T> {
    fn on(&self, event: &Event<'_>) {
        (**self).on(event);
    }
}
