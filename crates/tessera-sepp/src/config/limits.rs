//! How much others may have, and how long things may take.

use std::time::Duration;

use serde::Deserialize;

use super::values;

/// `[limits]`: of each listener by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Limits {
    /// Connections at a time; others wait in the listener's queue. One peer has half as many at most, to both listeners of
    /// N32 together. Default: 10,000.
    pub connections: usize,
    /// How many of them one address may have; further ones are closed. Default: an eighth of all.
    pub connections_per_address: Option<usize>,
    /// Handshakes at a time; others wait. Default: as many as connections, 4,096 at most.
    pub handshakes: Option<usize>,
    /// How many of them one address may have; further ones are closed. Default: an eighth of all.
    pub handshakes_per_address: Option<usize>,
    /// New connections of one address in a second; further ones are closed. Default: no limit.
    pub new_per_second_per_address: Option<u32>,
    /// Requests at a time, of all connections to all listeners: from three quarters on those of low priority
    /// (`3gpp-Sbi-Message-Priority`) are turned away. One peer has half at most. Default: 10,000.
    pub requests: u32,
    /// Requests at a time in one HTTP/2 connection. Default: 256.
    pub streams: u32,
    /// Headers of a message. Default: 100.
    pub headers: usize,
    /// Their length together, in bytes or with a unit. Default: 32 KiB.
    #[serde(deserialize_with = "values::bytes")]
    pub header_bytes: u64,
    /// The length of a body. Default: 16 MiB.
    #[serde(deserialize_with = "values::bytes")]
    pub body: u64,
    /// How long a handshake may take. Default: 10 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub handshake: Duration,
    /// How long dialling may take, all addresses together. Default: 5 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub connect: Duration,
    /// How long the head of a request may take to come. Default: 10 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub head: Duration,
    /// How long a body may stand still. Default: 15 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub body_idle: Duration,
    /// How long an answer may take where the request doesn't say (`3gpp-Sbi-Max-Rsp-Time`), and at most. Default: 20
    /// seconds.
    #[serde(deserialize_with = "values::duration")]
    pub response: Duration,
    /// How long a connection may be without a request. Default: 10 minutes.
    #[serde(deserialize_with = "values::duration")]
    pub idle: Duration,
    /// How long the other end may read nothing of what is sent to it. Default: 30 seconds.
    #[serde(deserialize_with = "values::duration")]
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 10_000,
            connections_per_address: None,
            handshakes: None,
            handshakes_per_address: None,
            new_per_second_per_address: None,
            requests: 10_000,
            streams: 256,
            headers: 100,
            header_bytes: 32 << 10,
            body: 16 << 20,
            handshake: seconds(10),
            connect: seconds(5),
            head: seconds(10),
            body_idle: seconds(15),
            response: seconds(20),
            idle: seconds(600),
            write: seconds(30),
        }
    }
}
