//! The output of the demonstration, for people and for programs.

use std::fmt;

use serde::Serialize;
use tessera_kit::report::Fact;
use tessera_proxy::demo;

/// The actor of a step.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Actor {
    /// The client that flies past.
    Drone,
    /// What moves it.
    Orchestrator,
    /// A proxy.
    Proxy,
}

impl demo::Actor for Actor {
    const WIDTH: usize = 12;

    fn name(self) -> &'static str {
        match self {
            Self::Drone => "drone",
            Self::Orchestrator => "orchestrator",
            Self::Proxy => "proxy",
        }
    }
}

/// The result.
#[derive(Default, Serialize)]
pub(super) struct Outcome {
    /// Requests of the client.
    pub(super) requests: u64,
    /// Of these, those that were the first at a proxy.
    pub(super) arrivals: u64,
    /// Of these, those that travelled in the first flight.
    pub(super) early: u64,
    /// Requests that services executed.
    pub(super) executed: u64,
    /// Requests that the service remembers at the end.
    pub(super) remembered: u64,
    /// The longest time from an arrival's request to its response, in milliseconds.
    pub(super) longest_arrival_millis: u64,
}

impl demo::Outcome for Outcome {
    fn is_good(&self) -> bool {
        self.requests == self.executed
            && self.requests == self.remembered
            && self.arrivals > 0
            && self.arrivals == self.early
    }
}

impl Fact for Outcome {
    const EVENT: &'static str = "demo";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, arrivals, early, executed, remembered, .. } = self;
        writeln!(
            f,
            "\n{requests} requests: {executed} executed, each once; the service remembers {remembered} of them."
        )?;
        write!(
            f,
            "{arrivals} arrivals at another proxy: {early} with the request in the first flight, the longest in {} ms.",
            self.longest_arrival_millis
        )
    }
}
