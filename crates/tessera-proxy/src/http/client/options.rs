//! Limits and time-outs of a pool.

use std::time::Duration;

use crate::http::body::BodyLimits;

/// Limits and time-outs of a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The most connections, including those being opened, but not those about to end. Default: 8.
    pub connections: usize,
    /// The most upgraded connections and streams at a time, whose connections `connections` doesn't count; further
    /// upgrades fail at once. Default: 1024.
    pub upgrades: usize,
    /// The most calls at a time on one connection of HTTP/2; the server may allow fewer
    /// (SETTINGS_MAX_CONCURRENT_STREAMS). Default: 100.
    pub streams: usize,
    /// The most calls waiting for a connection; others fail at once. Default: 1024.
    pub waiting: usize,
    /// How many connections to keep open without calls, opened ahead of need. Default: 0.
    pub warm: usize,
    /// Opens another connection ahead of need when the open ones are used to more than this percentage of their
    /// capacity. Default: 75.
    pub open_ahead_at: usize,
    /// How long connecting to one address may take, the handshake included. Default: 3 s.
    pub connect: Duration,
    /// How long to wait for a connection before trying the next address in parallel. Default: 250 ms.
    pub try_next_after: Duration,
    /// The shortest and longest time for which a failed address is avoided; it doubles with each failure in a row, and
    /// is shortened at random by up to a half. If no other address can be reached either, a call waits for the first
    /// that may be tried again, if that is within a second and its deadline. Default: 100 ms and 10 s.
    pub back_off: (Duration, Duration),
    /// How long an HTTP/2 connection with open calls may be silent before a PING; three times as long without calls.
    /// Default: 5 s.
    pub keep_alive: Duration,
    /// How long to wait for the answer to a PING before giving up the connection. Default: 5 s.
    pub keep_alive_answer: Duration,
    /// How long a connection that isn't kept warm may stay without a call. Default: 2 min.
    pub idle: Duration,
    /// The age at which a connection gets no new calls; at random up to a tenth less. Default: 1 h.
    pub max_age: Duration,
    /// The number of calls after which a connection gets no new ones. Default: 2^30, the number of HTTP/2 stream
    /// identifiers.
    pub max_calls: u64,
    /// How much of one response a server may send ahead of its reader, in bytes (RFC 9113 §6.9.2). Default: 256 KiB.
    pub stream_window: u32,
    /// The same for all responses of a connection. Default: 4 MiB.
    pub connection_window: u32,
    /// The most bytes of a response's header fields, as RFC 9113 §6.5.2 counts them. Default: 64 KiB.
    pub max_header_len: u32,
    /// The most header fields of a response of HTTP/1.1. Default: 128.
    pub max_headers: usize,
    /// Limits on a response's body.
    /// Default: any length, and no longer than 30 s without a byte.
    pub body: BodyLimits,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            connections: 8,
            upgrades: 1024,
            streams: 100,
            waiting: 1024,
            warm: 0,
            open_ahead_at: 75,
            connect: Duration::from_secs(3),
            try_next_after: Duration::from_millis(250),
            back_off: (Duration::from_millis(100), Duration::from_secs(10)),
            keep_alive: Duration::from_secs(5),
            keep_alive_answer: Duration::from_secs(5),
            idle: Duration::from_secs(120),
            max_age: Duration::from_secs(3600),
            max_calls: 1 << 30,
            stream_window: 256 * 1024,
            connection_window: 4 * 1024 * 1024,
            max_header_len: 64 * 1024,
            max_headers: 128,
            body: BodyLimits { max_len: u64::MAX, idle: Duration::from_secs(30) },
        }
    }
}
