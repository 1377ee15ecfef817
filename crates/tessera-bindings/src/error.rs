//! Errors.

use std::fmt;

use tessera_store::StoreError;

use crate::binding::{ProxyName, StepRefused};

/// Why a step wasn't taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingError {
    /// A name is empty or too long.
    Name(String),
    /// The client has no binding.
    Unbound,
    /// The step doesn't fit the client's binding.
    Refused(StepRefused),
    /// This proxy isn't live.
    ProxyGone(ProxyName),
    /// This proxy is live: nothing takes its clients away without a move.
    ProxyLive(ProxyName),
    /// These two proxies wouldn't resume each other's sessions.
    NoResumption(ProxyName, ProxyName),
    /// This proxy was restarted after it had imported the client's state.
    ImportLost(ProxyName),
    /// The entry is of a newer version, or malformed: this process leaves it alone.
    Unreadable,
    /// Others changed the binding at the same time, again and again.
    Contended,
    /// The store failed. The step may have been taken: repeating it is harmless.
    Store(StoreError),
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(what) => f.write_str(what),
            Self::Unbound => f.write_str("the client has no binding yet"),
            Self::Refused(why) => why.fmt(f),
            Self::ProxyGone(proxy) => {
                write!(f, "{proxy} isn't live: start it, or choose another proxy")
            }
            Self::ProxyLive(proxy) => write!(f, "{proxy} is live: move its client instead"),
            Self::NoResumption(one, other) => write!(
                f,
                "{one} and {other} wouldn't resume each other's sessions: compare their ticket keys, and the names and \
                 issuers of their certificates"
            ),
            Self::ImportLost(proxy) => write!(
                f,
                "{proxy} was restarted, and has lost what it had imported for the client: abort the move, and begin again"
            ),
            Self::Unreadable => f.write_str(
                "the client's binding can't be read: a newer version wrote it, so upgrade this process",
            ),
            Self::Contended => {
                f.write_str("other processes change the binding at the same time; try again")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BindingError {}

impl From<StepRefused> for BindingError {
    fn from(why: StepRefused) -> Self {
        Self::Refused(why)
    }
}

impl From<StoreError> for BindingError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
