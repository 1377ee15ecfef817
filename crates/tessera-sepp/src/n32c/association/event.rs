//! What happens on N32-c, for metrics and logs.

use std::sync::Arc;

use super::machine::State;
use crate::identity::CertificateIdentity;
use crate::n32c::failure::Failure;
use crate::n32c::messages::N32fErrorInfo;
use crate::n32c::refusal::Refusal;
use crate::names::Fqdn;

/// Something that happened on N32-c.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An exchange of capabilities succeeded.
    Agreed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// Who began.
        role: Role,
    },
    /// An exchange that this SEPP began failed.
    Failed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// Why.
        failure: &'a Failure,
    },
    /// A request was refused.
    Refused {
        /// The configured peer. `None`: the certificate is of none.
        peer: Option<&'a Fqdn>,
        /// Who sent it.
        identity: &'a CertificateIdentity,
        /// Why.
        refusal: &'a Refusal,
    },
    /// Another state holds.
    Changed {
        /// The configured peer.
        peer: &'a Fqdn,
        /// The state.
        state: &'a State,
    },
    /// A peer says that a message of ours on N32-f was wrong.
    Reported {
        /// The configured peer.
        peer: &'a Fqdn,
        /// What it says.
        error: &'a N32fErrorInfo,
    },
}

/// A side of an exchange of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// That which asks.
    Initiator,
    /// That which answers.
    Responder,
}

impl Role {
    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
        }
    }
}

/// Who is told. It is called in the course of things: it neither blocks nor calls back.
pub trait Observer: Send + Sync {
    /// Something happened.
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
