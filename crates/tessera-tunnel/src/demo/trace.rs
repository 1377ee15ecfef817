//! The output of the demonstration, for people and for programs.

use std::fmt;

use serde::Serialize;
use tessera_kit::report::Fact;
use tessera_proxy::demo;

/// The actor of a step.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Actor {
    /// The program, and the client end next to it.
    Client,
    /// The adversary on the path.
    Adversary,
    /// The server end.
    Server,
    /// What the server end forwards to.
    Backend,
}

impl demo::Actor for Actor {
    const WIDTH: usize = 10;

    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Adversary => "adversary",
            Self::Server => "server",
            Self::Backend => "database",
        }
    }
}

/// The result.
#[derive(Serialize)]
pub(super) struct Outcome {
    /// Requests that the client made.
    pub(super) requests: usize,
    /// Requests that the backend executed.
    pub(super) executed: usize,
    /// Of these, those that it executed more than once.
    pub(super) executed_twice: usize,
    /// Requests accepted from a first flight.
    pub(super) accepted_in_first_flight: u64,
    /// How often the adversary replayed a first flight.
    pub(super) replays: usize,
    /// From the request to its answer in a connection that began with a full handshake, in milliseconds.
    pub(super) full_millis: u64,
    /// The same with the request in the first flight.
    pub(super) early_millis: u64,
}

impl demo::Outcome for Outcome {
    fn is_good(&self) -> bool {
        // Without early data nothing was demonstrated.
        self.executed_twice == 0
            && self.executed == self.requests
            && self.accepted_in_first_flight > 0
    }
}

impl Fact for Outcome {
    const EVENT: &'static str = "demo";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, executed, executed_twice, replays, full_millis, early_millis, .. } =
            self;
        writeln!(
            f,
            "\n{requests} payments requested, {executed} executed, {} of them from a first flight; {replays} replays.",
            self.accepted_in_first_flight
        )?;
        match executed_twice {
            0 => writeln!(f, "No payment was executed twice.")?,
            1 => writeln!(f, "ONE PAYMENT WAS EXECUTED TWICE: that is a bug, please report it.")?,
            n => writeln!(f, "{n} PAYMENTS WERE EXECUTED TWICE: that is a bug, please report it.")?,
        }
        write!(
            f,
            "The first connection had its answer after {full_millis} ms, one with early data after {early_millis} ms."
        )
    }
}
