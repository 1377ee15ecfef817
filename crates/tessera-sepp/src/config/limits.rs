//! Resource limits and timeouts.

use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::gate::GateSettings;
use tessera_proxy::with_defaults;

use super::values;

with_defaults! {
    /// `[limits]`: each listener has its own.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Limits {
        /// Concurrent connections; further ones wait in the listener's queue. One peer gets at most half of them, over
        /// both N32 listeners together. Default: 10,000.
        pub connections: usize = 10_000,
        /// Connections of one address; further ones are closed. Default: an eighth of all.
        pub connections_per_address: Option<usize> = None,
        /// Concurrent handshakes; others wait. Default: as many as connections, 4,096 at most.
        pub handshakes: Option<usize> = None,
        /// Handshakes of one address; further ones are closed. Default: an eighth of all.
        pub handshakes_per_address: Option<usize> = None,
        /// New connections of one address per second; further ones are closed. Default: no limit.
        pub new_per_second_per_address: Option<u32> = None,
        /// Concurrent requests on all connections of all listeners. From three quarters of it, requests of low priority
        /// (`3gpp-Sbi-Message-Priority`) are refused. One peer gets half at most. Default: 10,000.
        pub requests: u32 = 10_000,
        /// Concurrent requests on one HTTP/2 connection. Default: 256.
        pub streams: u32 = 256,
        /// The maximum number of headers of a message. Default: 100.
        pub headers: usize = 100,
        /// Their total length, in bytes or with a unit. Default: 32 KiB.
        #[serde(deserialize_with = "values::bytes")]
        pub header_bytes: u64 = 32 << 10,
        /// The maximum length of a body. Default: 16 MiB.
        #[serde(deserialize_with = "values::bytes")]
        pub body: u64 = 16 << 20,
        /// Timeout of a handshake. Default: 10 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub handshake: Duration = Duration::from_secs(10),
        /// Timeout of dialling, over all addresses together. Default: 5 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub connect: Duration = Duration::from_secs(5),
        /// Timeout for receiving the head of a request. Default: 10 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub head: Duration = Duration::from_secs(10),
        /// How long a body may stall. Default: 15 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub body_idle: Duration = Duration::from_secs(15),
        /// The maximum time for an answer, and the timeout of requests without `3gpp-Sbi-Max-Rsp-Time`. Default: 20
        /// seconds.
        #[serde(deserialize_with = "values::duration")]
        pub response: Duration = Duration::from_secs(20),
        /// How long a connection may have no request. Default: 10 minutes.
        #[serde(deserialize_with = "values::duration")]
        pub idle: Duration = Duration::from_secs(600),
        /// How long the other end may not read what is sent to it. Default: 30 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub write: Duration = Duration::from_secs(30),
    }
}

impl Limits {
    /// Returns those of a listener's gate.
    pub(crate) fn gate(&self) -> GateSettings {
        GateSettings {
            connections: self.connections,
            connections_per_address: self.connections_per_address,
            handshakes: self.handshakes,
            handshakes_per_address: self.handshakes_per_address,
            new_per_second_per_address: self.new_per_second_per_address,
            // HTTP has finer timeouts for both; these cover what precedes it.
            idle: self.idle.max(self.response),
            write: self.write,
        }
    }
}
