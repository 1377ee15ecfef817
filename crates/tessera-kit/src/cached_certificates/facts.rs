//! What certificate caches found and did, as lines and as facts.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use tessera::Facts;
use tessera_cache::{ImportError, Metrics};

use super::Read;
use super::file::PrivateFile;
use crate::facts::is_cached;
use crate::report::Fact;

/// The content of a certificate cache's file.
#[derive(Debug, Clone, Serialize)]
pub struct CacheContents {
    file: String,
    found: &'static str,
    entries: u64,
}

impl Fact for CacheContents {
    const EVENT: &'static str = "certificate_cache";
}

impl CacheContents {
    pub(super) fn new(file: &PrivateFile, read: Read, metrics: &Metrics) -> Self {
        let found = match read {
            Read::Nothing => "nothing",
            Read::Whole => "kept",
            Read::Refused(ImportError::Newer { .. }) => "newer",
            Read::Refused(_) => "damaged",
        };
        Self { file: file.path().display().to_string(), found, entries: metrics.entries }
    }

    /// Returns whether the file had unreadable content.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        !["nothing", "kept"].contains(&self.found)
    }
}

/// Formats one line for people.
impl fmt::Display for CacheContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, found, entries } = self;
        match *found {
            "kept" => write!(f, "certificates in {file}: known peers: {entries}"),
            "newer" => write!(
                f,
                "{file}: a newer version of this program wrote it; it is ignored and will be replaced, and \
                 certificates travel whole once more: give each version its own directory"
            ),
            "damaged" => write!(
                f,
                "{file}: it was cut off or changed, or is not a cache of certificates; it is ignored and will be \
                 replaced, and certificates travel whole once more: check the disk if this happens again"
            ),
            _ => write!(f, "certificates in {file}: none yet"),
        }
    }
}

/// Totals over the connections of one client: how certificates were sent, and why not as hashes.
#[derive(Debug, Clone, Default)]
pub struct ClientSums {
    /// The client's own certificates sent as a hash.
    pub own_cached: u64,
    /// Those sent in full, or compressed.
    pub own_whole: u64,
    /// Why they were.
    pub own_missed: BTreeMap<&'static str, u64>,
    /// The server's certificates received as a hash.
    pub peer_cached: u64,
    /// Those received in full, or compressed.
    pub peer_whole: u64,
    /// Why they were.
    pub peer_missed: BTreeMap<&'static str, u64>,
    /// How many bytes of handshake messages were saved, sent and received.
    pub bytes_saved: u64,
}

impl ClientSums {
    /// Adds a connection.
    pub fn add(&mut self, facts: &Facts) {
        let own = (facts.own_certificate, &mut self.own_cached, &mut self.own_whole);
        let peer = (facts.peer_certificate, &mut self.peer_cached, &mut self.peer_whole);
        let missed = [&mut self.own_missed, &mut self.peer_missed];
        for ((transfer, cached, whole), missed) in [own, peer].into_iter().zip(missed) {
            let Some(transfer) = transfer else { continue };
            *if is_cached(transfer) { cached } else { whole } += 1;
            if let Some(why) = transfer.missed {
                *missed.entry(why).or_default() += 1;
            }
        }
    }
}

/// What a server's certificate cache has done since it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheSums {
    sent_cached: u64,
    sent_whole: u64,
    received_cached: u64,
    missed_nothing_cached: u64,
    missed_unknown_ticket: u64,
    missed_another_chain: u64,
    missed_policy: u64,
    missed_expired: u64,
    missed_forgotten: u64,
    wrong_hash: u64,
    bytes_saved: u64,
    evicted: u64,
    entries: u64,
    bytes: u64,
}

impl Fact for CacheSums {
    const EVENT: &'static str = "cached_certificates";
}

impl From<Metrics> for CacheSums {
    fn from(metrics: Metrics) -> Self {
        Self {
            sent_cached: metrics.sent_cached,
            sent_whole: metrics.sent_whole,
            received_cached: metrics.received_cached,
            missed_nothing_cached: metrics.missed_nothing_cached,
            missed_unknown_ticket: metrics.missed_unknown_ticket,
            missed_another_chain: metrics.missed_another_chain,
            missed_policy: metrics.missed_policy,
            missed_expired: metrics.missed_expired,
            missed_forgotten: metrics.missed_forgotten,
            wrong_hash: metrics.wrong_hash,
            bytes_saved: metrics.bytes_saved,
            evicted: metrics.evicted,
            entries: metrics.entries,
            bytes: metrics.bytes,
        }
    }
}

/// Formats one line for people.
impl fmt::Display for CacheSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent_cached, sent_whole, received_cached, bytes_saved, entries, .. } = self;
        write!(
            f,
            "cached certificates, since the start: own as a hash: {sent_cached}, whole: {sent_whole}; \
             clients' as a hash: {received_cached}"
        )?;
        let missed = [
            (self.missed_nothing_cached, "of clients that showed no ticket"),
            (self.missed_unknown_ticket, "with unknown tickets"),
            (self.missed_another_chain, "of clients that now have another one"),
            (self.missed_policy, "of clients accepted before trust changed"),
            (self.missed_expired, "that have expired"),
            (self.missed_forgotten, "that the verifier has forgotten"),
            (self.wrong_hash, "refused, with a wrong hash"),
        ];
        for (count, what) in missed.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {what}: {count}")?;
        }
        write!(f, "; bytes saved: {bytes_saved}; known clients: {entries}")
    }
}
