//! Sockets that associations have of their own: which there are, and whose they are (`docs/dtls-mobility.md`).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::crypto::Random;

use crate::path::{Source, SourceCounts};

/// Lets associations have sockets of their own: the server's address then names the association, so that a client
/// without connection IDs may move, and records have no connection ID.
#[derive(Debug, Clone)]
pub struct OwnSockets {
    /// How a client learns of its association's socket.
    pub policy: SocketPolicy,
    /// Whether [`SocketPolicy::Tcs`] announces the socket's IP address with its port: for sockets with addresses out of
    /// an IPv6 prefix. Otherwise the client keeps the one that it uses, which may be that of a NAT. Default: no.
    pub announces_ip: bool,
    /// The most sockets of associations. Default: 1,000.
    pub max: usize,
    /// The most of one IPv4 address or IPv6 /64. Default: 100.
    pub max_per_source: usize,
    /// How long an association with a socket lives without a record of its client. Default: an hour.
    pub idle_timeout: Duration,
}

impl OwnSockets {
    /// Returns the defaults of a policy.
    #[must_use]
    pub fn new(policy: SocketPolicy) -> Self {
        Self {
            policy,
            announces_ip: false,
            max: 1_000,
            max_per_source: 100,
            idle_timeout: Duration::from_secs(3600),
        }
    }
}

/// How a client learns of the socket that its association has (after Caminati et al., "Fast Session Resumption in DTLS
/// for Mobile Communications", CCNC 2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketPolicy {
    /// Implicit Port Communication: ServerHello comes from it. Any client whose socket isn't connected can follow, but
    /// a NAT that admits only what was asked drops it.
    Ipc,
    /// Temporary Connected Socket: the handshake stays where it began, and announces the socket to a client that
    /// follows. It sends there first, which every NAT admits. Other clients have connection IDs.
    Tcs,
}

/// The sockets for associations.
pub(crate) struct SocketPool {
    pub(crate) options: OwnSockets,
    places: HashMap<SocketAddr, SocketPlace>,
    /// Those that wait for an association.
    waiting: Vec<SocketAddr>,
    /// Those that the owner has yet to close.
    released: Vec<SocketAddr>,
    per_source: SourceCounts,
}

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketPlace {
    /// The next association.
    Waiting,
    Of(u64),
    /// Nothing any more.
    Released,
}

impl SocketPool {
    pub(crate) fn new(options: OwnSockets) -> Self {
        Self {
            options,
            places: HashMap::new(),
            waiting: Vec::new(),
            released: Vec::new(),
            per_source: SourceCounts::default(),
        }
    }

    /// Returns how many more are wanted: enough for the clients that begin at once.
    pub(crate) fn wanted(&self) -> usize {
        let left = self.options.max.saturating_sub(self.used());
        MAX_WAITING.min(left).saturating_sub(self.waiting.len())
    }

    /// Returns how many associations have one.
    fn used(&self) -> usize {
        self.places.len() - self.waiting.len() - self.released.len()
    }

    /// Adds one that waits; returns false for one that can't be announced, or is there already.
    pub(crate) fn add(&mut self, local: SocketAddr) -> bool {
        if local.port() == 0 || self.places.contains_key(&local) {
            return false;
        }
        self.places.insert(local, SocketPlace::Waiting);
        self.waiting.push(local);
        true
    }

    /// Returns what a socket of an association is for; `None`: it is the one that associations share.
    pub(crate) fn place(&self, local: SocketAddr) -> Option<SocketPlace> {
        self.places.get(&local).copied()
    }

    /// Gives an association any that waits; `None` if there is none, or a limit is reached.
    pub(crate) fn take(
        &mut self,
        id: u64,
        source: Source,
        random: &dyn Random,
    ) -> Option<SocketAddr> {
        let is_full = self.used() >= self.options.max
            || self.per_source.of(source) >= self.options.max_per_source;
        if is_full || self.waiting.is_empty() {
            return None;
        }
        let mut draw = [0; 8];
        random.fill(&mut draw).ok()?;
        let index = (u64::from_be_bytes(draw) % self.waiting.len() as u64) as usize;
        let local = self.waiting.swap_remove(index);
        self.places.insert(local, SocketPlace::Of(id));
        self.per_source.add(source);
        Some(local)
    }

    /// Takes the socket of an association that is gone. It isn't used again: datagrams for that association may still
    /// come.
    pub(crate) fn release(&mut self, local: SocketAddr, source: Source) {
        self.places.insert(local, SocketPlace::Released);
        self.released.push(local);
        self.per_source.remove(source);
    }

    /// Returns a socket that the owner must close.
    pub(crate) fn next_released(&mut self) -> Option<SocketAddr> {
        let local = self.released.pop()?;
        self.places.remove(&local);
        Some(local)
    }
}

/// How many sockets wait for clients.
const MAX_WAITING: usize = 16;
