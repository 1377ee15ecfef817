//! How much one peer, and all peers, may have, and how long things may take.

use std::time::Duration;

use serde::Deserialize;

use super::values;

/// `[server.NAME.limits]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ServerLimits {
    /// Connections at a time; others wait in the listener's queue. Default: 10,000.
    pub connections: usize,
    /// How many of them one address may have; further ones are closed. Default: an eighth of all.
    pub connections_per_address: Option<usize>,
    /// Handshakes at a time; others wait. Default: as many as connections, 4,096 at most.
    pub handshakes: Option<usize>,
    /// How many of them one address may have; further ones are closed. Default: an eighth of all.
    pub handshakes_per_address: Option<usize>,
    /// New connections of one address in a second; further ones are closed. Default: no limit.
    pub new_per_second_per_address: Option<u32>,
    /// How long a handshake may take, and as long a PROXY header before it. Default: 10 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub handshake: Duration,
    /// How long dialling the backend may take, all of its addresses together. It must end before `handshake` does,
    /// because a client with early data waits for it. Default: 5 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub connect: Duration,
    /// How long a connection may move nothing in either direction. Default: 12 hours.
    #[serde(deserialize_with = "values::duration")]
    pub idle: Duration,
    /// How long either end may read nothing of what is sent to it. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub write: Duration,
}

/// `[client.NAME.limits]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ClientLimits {
    /// Connections at a time; others wait in the listener's queue. Default: 10,000.
    pub connections: usize,
    /// How many of them one address may have; further ones are closed. Default: all of them, since the programs of one
    /// machine share an address.
    pub connections_per_address: Option<usize>,
    /// How long the TLS handshake with the server may take. Default: 10 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub handshake: Duration,
    /// How long dialling the server may take, all of its addresses together. Default: 5 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub connect: Duration,
    /// How long a connection may move nothing in either direction. Default: 12 hours.
    #[serde(deserialize_with = "values::duration")]
    pub idle: Duration,
    /// How long either end may read nothing of what is sent to it. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub write: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: None,
            handshakes: None,
            handshakes_per_address: None,
            new_per_second_per_address: None,
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            idle: HALF_A_DAY,
            write: Duration::from_secs(30),
        }
    }
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: None,
            handshake: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            idle: HALF_A_DAY,
            write: Duration::from_secs(30),
        }
    }
}

/// Pools of database connections lie idle for hours.
const HALF_A_DAY: Duration = Duration::from_secs(12 * 3600);
