//! The output of the demonstration, for people and for programs.

use std::fmt;

use serde::Serialize;
use tessera_kit::report::Fact;
use tessera_proxy::demo;

/// The actor of a step.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Actor {
    /// A client of the servers.
    Client,
    /// A server.
    Server,
    /// The sidecars.
    Ring,
}

impl demo::Actor for Actor {
    const WIDTH: usize = 7;

    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Ring => "ring",
        }
    }
}

/// The result.
#[derive(Default, Serialize)]
pub(super) struct Outcome {
    /// How often the ring rotated.
    pub(super) rotations: usize,
    /// Clients that came back to another host than that of their ticket.
    pub(super) returned: usize,
    /// Of these, those whose session was resumed.
    pub(super) resumed: usize,
    /// Clients that came back with a ticket from before the revocation.
    pub(super) returned_after_revocation: usize,
    /// Of these, those whose session was resumed.
    pub(super) resumed_after_revocation: usize,
    /// The longest time from a rotation to the last acknowledgement, in milliseconds.
    pub(super) slowest_rotation_millis: u64,
}

impl demo::Outcome for Outcome {
    fn is_good(&self) -> bool {
        self.returned > 0
            && self.resumed == self.returned
            && self.returned_after_revocation > 0
            && self.resumed_after_revocation == 0
    }
}

impl Fact for Outcome {
    const EVENT: &'static str = "demo";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rotations, returned, resumed, .. } = self;
        writeln!(
            f,
            "\n{rotations} rotations, the slowest in {} ms. {returned} clients came back to the other host: {resumed} \
             resumed.",
            self.slowest_rotation_millis
        )?;
        write!(
            f,
            "{} came back with a revoked ticket: {} resumed.",
            self.returned_after_revocation, self.resumed_after_revocation
        )
    }
}
