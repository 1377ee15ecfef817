//! Our arms in virtual time: client, server and network in one thread, so that a seed repeats each datagram.

mod network;
#[cfg(test)]
mod tests;
mod world;

use std::sync::Arc;

use tessera::handshake::Checked;
use tessera::resume::TicketKeys;
use tessera::{ClientConfig, ServerConfig};
use tessera_vault::RotatingRing;

use self::world::World;
use super::LONGEST;
use super::arm::Arm;
use super::client::ClientSettings;
use super::configuration;
use super::measure::Recording;
use super::scenario::Scenario;
use crate::endpoint::Result;
use crate::pki::Pki;

/// Both ends of an arm.
pub(super) struct Stage {
    arm: Arm,
    scenario: Scenario,
    client: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    cookies: Arc<dyn TicketKeys>,
}

impl Stage {
    pub(super) fn new(arm: Arm, scenario: &Scenario, pki: &Pki) -> Result<Self> {
        Ok(Self {
            arm,
            scenario: scenario.clone(),
            client: configuration::client(arm, scenario.change, &pki.client)?,
            server: configuration::server(arm, scenario.change, &pki.server)?,
            cookies: Arc::new(RotatingRing::new(&tessera_aws_lc::provider())),
        })
    }

    /// Runs it once, for this many acknowledgements.
    pub(super) fn run(&self, acks: u32, seed: u64) -> Result<Recording> {
        let settings = ClientSettings {
            task: self.scenario.task(acks),
            options: configuration::association(self.arm),
            follows: self.arm.has_own_socket(),
            survives: self.arm.survives(),
            timeouts: self.scenario.timeouts,
        };
        World::new(self, settings, seed)?.run(self.scenario.schedule(LONGEST, seed))
    }
}
