//! Counters of a cache.

use crate::miss_reason::MissReason;

/// A cache's counters since it was made, and how full it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Own certificates sent as a hash.
    pub sent_cached: u64,
    /// Own certificates sent in full (or compressed): the peer offered no id of this chain.
    pub sent_whole: u64,
    /// Peers' certificates received as a hash.
    pub received_cached: u64,
    /// Peers' certificates received in full, from peers of which nothing was cached.
    pub missed_nothing_cached: u64,
    /// Peers' certificates received in full, although a chain was offered: the peer has another one, or
    /// doesn't take part.
    pub missed_another_chain: u64,
    /// Chains not offered because they have expired.
    pub missed_expired: u64,
    /// Chains not offered because two of them have the same id.
    pub missed_same_id: u64,
    /// Clients not offered their chain because the verifier's policy has changed.
    pub missed_policy: u64,
    /// Chains not offered because the verifier no longer remembers them.
    pub missed_forgotten: u64,
    /// Clients whose tickets, and a fleet ticket's chain, were not found: used before, evicted, or from an
    /// earlier life of this server.
    pub missed_unknown_ticket: u64,
    /// Clients found by a fleet ticket: this server had none of their others.
    pub found_by_fleet_ticket: u64,
    /// Hashes other than the expected one; such handshakes end.
    pub wrong_hash: u64,
    /// How many bytes of messages were saved by caching, sent and received, compared with uncompressed
    /// certificates.
    pub bytes_saved: u64,
    /// How often something was learned of a peer: its chain, or tickets, after a resumption too.
    pub learned: u64,
    /// Evicted entries.
    pub evicted: u64,
    /// Current number of entries: servers in a client's cache, clients in a server's.
    pub entries: u64,
    /// Their size in bytes, roughly.
    pub bytes: u64,
}

impl Metrics {
    /// Returns each counter with a name for operators.
    pub fn named(&self) -> [(&'static str, u64); 16] {
        [
            ("sent_cached", self.sent_cached),
            ("sent_whole", self.sent_whole),
            ("received_cached", self.received_cached),
            ("missed_nothing_cached", self.missed_nothing_cached),
            ("missed_another_chain", self.missed_another_chain),
            ("missed_expired", self.missed_expired),
            ("missed_same_id", self.missed_same_id),
            ("missed_policy", self.missed_policy),
            ("missed_forgotten", self.missed_forgotten),
            ("missed_unknown_ticket", self.missed_unknown_ticket),
            ("found_by_fleet_ticket", self.found_by_fleet_ticket),
            ("wrong_hash", self.wrong_hash),
            ("bytes_saved", self.bytes_saved),
            ("evicted", self.evicted),
            ("entries", self.entries),
            ("bytes", self.bytes),
        ]
    }

    /// Counts that a peer's certificate could not be sent as a hash this many times. If the peer takes no
    /// part, nothing is counted; nor are this side's own tickets.
    pub(crate) fn missed(&mut self, why: MissReason, times: u64) {
        let counter = match why {
            MissReason::NothingCached => &mut self.missed_nothing_cached,
            MissReason::AnotherChain => &mut self.missed_another_chain,
            MissReason::Expired => &mut self.missed_expired,
            MissReason::SameId => &mut self.missed_same_id,
            MissReason::Policy => &mut self.missed_policy,
            MissReason::Forgotten => &mut self.missed_forgotten,
            MissReason::UnknownTicket => &mut self.missed_unknown_ticket,
            MissReason::TakesNoPart | MissReason::NoTicket => return,
        };
        *counter += times;
    }

    /// Counts a peer's hash in place of a body of this length.
    pub(crate) fn received(&mut self, matches: bool, body: usize, encoded: usize) {
        if matches {
            self.saved(body, encoded);
        } else {
            self.wrong_hash += 1;
        }
    }

    /// Counts a Certificate with a body of this length, sent as `encoded` bytes of a CompressedCertificate.
    pub(crate) fn saved(&mut self, body: usize, encoded: usize) {
        self.bytes_saved += body.saturating_sub(HEADER + encoded) as u64;
    }
}

/// Overhead of CompressedCertificate: the algorithm and two lengths (RFC 8879 §4).
const HEADER: usize = 2 + 3 + 3;
