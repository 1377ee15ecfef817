//! What the primitives alone take of a connection.

use std::time::Duration;

use tessera_observed::{OperationTime, TimedEnd};

use crate::cost::{Cost, NoMeter};
use crate::scene::Scene;
use crate::ways::Way;

/// A scene in which each operation of provider, key, verifier and stores is timed. That slows its connections down: what
/// they cost is measured in a [`Scene`] of its own.
pub struct TimedScene {
    scene: Scene,
    client: TimedEnd,
    server: TimedEnd,
}

impl TimedScene {
    /// Creates the scene of a way.
    pub fn new(way: &'static Way) -> Self {
        let (client, server) = (TimedEnd::new(), TimedEnd::new());
        let scene = Scene::with_configs(way, None, |it| client.client(it), |it| server.server(it));
        Self { scene, client, server }
    }

    /// Returns the time of all operations of each end, of each connection.
    pub fn round(&self, handshakes: usize) -> Vec<Cost> {
        let mut session = self.scene.first(&mut NoMeter);
        let connections = (0..handshakes).map(|_| {
            self.client.take();
            self.server.take();
            session = self.scene.next(session.take(), &mut NoMeter);
            let (client, server) = (total(&self.client.take()), total(&self.server.take()));
            Cost { client, server, ahead: Duration::ZERO }
        });
        connections.collect()
    }
}

fn total(operations: &[OperationTime]) -> Duration {
    Duration::from_secs_f64(operations.iter().map(|it| it.us).sum::<f64>() / 1e6)
}
