//! What a caller says of a call, and what it gets.

use std::sync::Arc;

use http::Response;

use super::connect::Protocol;
use super::connection::Connection;
use super::flight::Facts;
use crate::address::DialAddress;
use crate::http::body::Body;
use crate::http::deadline::Deadline;
use tessera_tokio::EarlyDataOutcome;

/// How a request is to be treated.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Whether it may travel as early data.
    pub early: Early,
    /// Whether it may be executed twice: it is sent once more where it may have been executed. Whoever has it knows;
    /// RFC 9110 §9.2.2 calls such methods idempotent.
    pub repeatable: bool,
    /// When the response has to be there. The body has a limit of its own, [`PoolOptions::body`](super::PoolOptions).
    pub deadline: Deadline,
}

impl Call {
    /// Neither early nor repeated.
    pub fn until(deadline: Deadline) -> Self {
        Self { early: Early::Never, repeatable: false, deadline }
    }

    /// May travel as early data.
    #[must_use]
    pub fn early(mut self) -> Self {
        self.early = Early::Allowed;
        self
    }

    /// May be executed twice.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }
}

/// Whether a request may travel as early data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Early {
    /// Nothing of it is written before the handshake is complete.
    #[default]
    Never,
    /// It may be the request of a connection's first flight, under a forward-secret ticket.
    Allowed,
}

/// A response, and how it came.
#[derive(Debug)]
pub struct Answer {
    /// The response. Its body keeps its place on the connection until its end.
    pub response: Response<Body>,
    /// It was sent a second time, because the first may have been executed.
    pub resent: bool,
    pub(super) was_early: bool,
    pub(super) connection: Arc<Connection>,
}

impl Answer {
    /// Whether the request travelled as early data, and was taken as such.
    pub fn was_early(&self) -> bool {
        self.was_early && self.connection.early_data().accepted > 0
    }

    /// What became of the early data of its connection, whichever request was in it.
    pub fn early_data(&self) -> EarlyDataOutcome {
        self.connection.early_data()
    }

    /// What is known of its connection's TLS: the peer's identity above all. `None` in plaintext.
    pub fn facts(&self) -> Option<&Facts> {
        self.connection.facts()
    }

    /// Where it came from.
    pub fn address(&self) -> &DialAddress {
        self.connection.address()
    }

    /// The version of HTTP.
    pub fn protocol(&self) -> Protocol {
        self.connection.protocol()
    }
}
