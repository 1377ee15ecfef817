//! What there is in a pool, for those who watch it.

use super::Target;

/// What there is in a pool now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Connections that get calls.
    pub connections: usize,
    /// Those of them whose handshake is complete, and whose server owes no answer to PING.
    pub ready: usize,
    /// Connections that are being opened.
    pub opening: usize,
    /// Calls that have a place on a connection, until their response's end.
    pub in_use: usize,
    /// Calls that wait for a place.
    pub waiting: usize,
    /// The addresses.
    pub addresses: Vec<AddressStatus>,
    /// What happened since the beginning.
    pub counts: Counts,
}

/// How an address does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AddressStatus {
    /// Which.
    pub target: Target,
    /// It failed, and isn't tried for a while.
    pub is_sick: bool,
    /// Failures in a row.
    pub failures: u32,
    /// Connections to it.
    pub connections: usize,
}

/// What happened since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that began.
    pub calls: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub failed: u64,
    /// Calls that were sent again because nobody had executed them.
    pub retried: u64,
    /// Calls that were sent again although they may have been executed: those that are repeatable.
    pub resent: u64,
    /// Calls that were in a first flight.
    pub early: u64,
}
