//! What a pool may use, and how long it waits.

use std::time::Duration;

use crate::http::body::BodyLimits;

/// What a pool may use, and how long it waits.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The most connections, those that are being opened included, and without those that are about to end. Default: 8.
    pub connections: usize,
    /// The most calls at a time on one connection of HTTP/2; the server may allow fewer
    /// (SETTINGS_MAX_CONCURRENT_STREAMS). Default: 100.
    pub streams: usize,
    /// The most calls that wait for a connection; others are refused at once. Default: 1024.
    pub waiting: usize,
    /// How many connections are kept open without a call, opened ahead of need. Default: 0.
    pub warm: usize,
    /// Another connection is opened ahead of need when more than this share of what the open ones can carry is in use,
    /// in percent. Default: 75.
    pub open_ahead_at: usize,
    /// How long connecting to one address may take, the handshake included. Default: 3 s.
    pub connect: Duration,
    /// After how long without a connection the next address is tried beside the first. Default: 250 ms.
    pub try_next_after: Duration,
    /// The shortest and the longest time for which an address that failed isn't tried; it doubles with each failure in
    /// a row, and a random part of up to a half is taken off. Where no other address can be reached either, a call waits
    /// for the first that may be tried again, if that is within a second and its deadline. Default: 100 ms and 10 s.
    pub back_off: (Duration, Duration),
    /// How long a connection of HTTP/2 may be silent before it is asked by PING, while calls are under way; three
    /// times as long while there are none. Default: 5 s.
    pub keep_alive: Duration,
    /// How long the answer to PING may take; the connection is given up then. Default: 5 s.
    pub keep_alive_answer: Duration,
    /// How long a connection that isn't kept warm may be without a call. Default: 2 min.
    pub idle: Duration,
    /// After how long a connection gets no new call; up to a tenth less, by chance. Default: 1 h.
    pub max_age: Duration,
    /// After how many calls a connection gets no new one. Default: 2^30, as many as HTTP/2 has identifiers.
    pub max_calls: u64,
    /// How much a server may send of one response before it is read, in bytes (RFC 9113 §6.9.2). Default: 256 KiB.
    pub stream_window: u32,
    /// The same for all responses of a connection. Default: 4 MiB.
    pub connection_window: u32,
    /// The most bytes of a response's header fields, as RFC 9113 §6.5.2 counts them. Default: 64 KiB.
    pub max_header_len: u32,
    /// The most header fields of a response of HTTP/1.1. Default: 128.
    pub max_headers: usize,
    /// What a server may send as one body.
    /// Default: any length, and no longer than 30 s without a byte.
    pub body: BodyLimits,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            connections: 8,
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
