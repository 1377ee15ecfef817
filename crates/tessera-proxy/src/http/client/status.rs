//! The status of a pool, for monitoring.

use super::Target;

/// The current status of a pool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Connections that accept calls.
    pub connections: usize,
    /// Of these, those with a complete handshake and no unanswered PING.
    pub ready: usize,
    /// Connections that are being opened.
    pub opening: usize,
    /// Calls with a place on a connection, until the end of their response.
    pub in_use: usize,
    /// Upgrades, from their start to the end of their stream.
    pub upgrades: usize,
    /// Calls waiting for a place.
    pub waiting: usize,
    /// The addresses.
    pub addresses: Vec<AddressStatus>,
    /// Events since the beginning.
    pub counts: Counts,
}

/// The status of an address.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AddressStatus {
    /// The address.
    pub target: Target,
    /// It failed, and is avoided for a while.
    pub is_sick: bool,
    /// Failures in a row.
    pub failures: u32,
    /// Connections to it.
    pub connections: usize,
}

/// Events since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls started.
    pub calls: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections that failed to open.
    pub failed: u64,
    /// Calls resent after attempts that were surely not executed.
    pub retried: u64,
    /// Calls resent although they may have been executed: repeatable ones only.
    pub resent: u64,
    /// Calls sent in a first flight.
    pub early: u64,
}
