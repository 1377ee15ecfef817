//! Options of upgrades.

use std::time::Duration;

use crate::http::upgrade::WEBSOCKET;

/// Which upgrades clients may request.
#[derive(Debug, Clone)]
pub struct UpgradeOptions {
    /// The protocols, in any case. Default: `websocket` alone.
    pub protocols: Vec<String>,
    /// How long an upgraded connection stays open while no byte moves in either direction. Default: 1 h.
    pub idle_time: Duration,
}

impl Default for UpgradeOptions {
    fn default() -> Self {
        Self { protocols: vec![WEBSOCKET.to_owned()], idle_time: Duration::from_secs(3600) }
    }
}
