//! How much others may have, and how long things may take.

use std::time::Duration;

use serde::Deserialize;
use tessera_proxy::with_defaults;

use super::values;

with_defaults! {
    /// `[limits]`: of each listener by itself.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    pub struct Limits {
        /// Connections at a time; others wait in the listener's queue. One peer has half as many at most, to both listeners of
        /// N32 together. Default: 10,000.
        pub connections: usize = 10_000,
        /// How many of them one address may have; further ones are closed. Default: an eighth of all.
        pub connections_per_address: Option<usize> = None,
        /// Handshakes at a time; others wait. Default: as many as connections, 4,096 at most.
        pub handshakes: Option<usize> = None,
        /// How many of them one address may have; further ones are closed. Default: an eighth of all.
        pub handshakes_per_address: Option<usize> = None,
        /// New connections of one address in a second; further ones are closed. Default: no limit.
        pub new_per_second_per_address: Option<u32> = None,
        /// Requests at a time, of all connections to all listeners: from three quarters on those of low priority
        /// (`3gpp-Sbi-Message-Priority`) are turned away. One peer has half at most. Default: 10,000.
        pub requests: u32 = 10_000,
        /// Requests at a time in one HTTP/2 connection. Default: 256.
        pub streams: u32 = 256,
        /// Headers of a message. Default: 100.
        pub headers: usize = 100,
        /// Their length together, in bytes or with a unit. Default: 32 KiB.
        #[serde(deserialize_with = "values::bytes")]
        pub header_bytes: u64 = 32 << 10,
        /// The length of a body. Default: 16 MiB.
        #[serde(deserialize_with = "values::bytes")]
        pub body: u64 = 16 << 20,
        /// How long a handshake may take. Default: 10 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub handshake: Duration = Duration::from_secs(10),
        /// How long dialling may take, all addresses together. Default: 5 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub connect: Duration = Duration::from_secs(5),
        /// How long the head of a request may take to come. Default: 10 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub head: Duration = Duration::from_secs(10),
        /// How long a body may stand still. Default: 15 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub body_idle: Duration = Duration::from_secs(15),
        /// How long an answer may take where the request doesn't say (`3gpp-Sbi-Max-Rsp-Time`), and at most. Default: 20
        /// seconds.
        #[serde(deserialize_with = "values::duration")]
        pub response: Duration = Duration::from_secs(20),
        /// How long a connection may be without a request. Default: 10 minutes.
        #[serde(deserialize_with = "values::duration")]
        pub idle: Duration = Duration::from_secs(600),
        /// How long the other end may read nothing of what is sent to it. Default: 30 seconds.
        #[serde(deserialize_with = "values::duration")]
        pub write: Duration = Duration::from_secs(30),
    }
}
