//! Options of a call, and its answer.

use std::fmt;
use std::sync::Arc;

use http::Response;

use super::connect::Protocol;
use super::connection::Connection;
use super::error::{CallError, CallErrorKind};
use super::flight::Facts;
use crate::address::DialAddress;
use crate::http::body::Body;
use crate::http::deadline::Deadline;
use tessera_tokio::EarlyDataOutcome;

/// How to treat a request.
#[derive(Debug, Clone)]
pub struct Call {
    /// Whether it may travel as early data.
    pub early: Early,
    /// Whether the request may be executed twice: it is then resent even if it may have been executed. Only the caller
    /// can know; RFC 9110 §9.2.2 calls such methods idempotent.
    pub repeatable: bool,
    /// The deadline of the response's head. The body has its own limit, [`PoolOptions::body`](super::PoolOptions).
    pub deadline: Deadline,
    /// Whether it may still be sent; `None`: always.
    pub permission: Option<Permission>,
}

/// Decides right before a request is sent, each time, whether it still may be: a call may have waited for a connection.
#[derive(Clone)]
pub struct Permission(Arc<dyn Fn() -> bool + Send + Sync>);

impl Permission {
    /// Creates one that holds as long as this returns true.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }
}

impl fmt::Debug for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permission").finish_non_exhaustive()
    }
}

impl Call {
    /// Creates a call that is neither early nor repeatable.
    pub fn until(deadline: Deadline) -> Self {
        Self { early: Early::Never, repeatable: false, deadline, permission: None }
    }

    /// Allows it to travel as early data.
    #[must_use]
    pub fn early(mut self) -> Self {
        self.early = Early::Allowed;
        self
    }

    /// Allows it to be executed twice.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sends it only while it is permitted; otherwise it fails with [`Withdrawn`](super::CallErrorKind::Withdrawn).
    #[must_use]
    pub fn while_permitted(mut self, permission: Permission) -> Self {
        self.permission = Some(permission);
        self
    }

    /// Whether it may be sent now.
    ///
    /// # Errors
    /// That it was withdrawn.
    pub(super) fn check(&self) -> Result<(), CallError> {
        match &self.permission {
            Some(Permission(holds)) if !holds() => Err(CallError::unsent(CallErrorKind::Withdrawn)),
            _ => Ok(()),
        }
    }
}

impl From<Deadline> for Call {
    fn from(deadline: Deadline) -> Self {
        Self::until(deadline)
    }
}

/// Whether a request may travel as early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Early {
    /// No byte of it is sent before the handshake is complete.
    #[default]
    Never,
    /// It may travel in a connection's first flight, under a forward-secret ticket.
    Allowed,
}

/// A response, and its origin.
#[derive(Debug)]
pub struct Answer {
    /// The response. Its body keeps the call's place on the connection until the body's end.
    pub response: Response<Body>,
    /// It was resent although the first attempt may have been executed.
    pub resent: bool,
    pub(super) was_early: bool,
    pub(super) connection: Arc<Connection>,
}

impl Answer {
    /// Whether the request was accepted as early data.
    pub fn was_early(&self) -> bool {
        self.was_early && self.connection.early_data().accepted > 0
    }

    /// Returns the outcome of the connection's early data, whichever request was in it.
    pub fn early_data(&self) -> EarlyDataOutcome {
        self.connection.early_data()
    }

    /// Returns the facts about the connection's TLS, above all the peer's identity. `None` in plaintext.
    pub fn facts(&self) -> Option<&Facts> {
        self.connection.facts()
    }

    /// Returns the address of the server.
    pub fn address(&self) -> &DialAddress {
        self.connection.address()
    }

    /// Returns the version of HTTP.
    pub fn protocol(&self) -> Protocol {
        self.connection.protocol()
    }
}
