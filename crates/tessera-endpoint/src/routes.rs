//! Which association a datagram belongs to.

use std::collections::HashMap;

use tessera::ConnectionId;
use tessera::face::connection_id_of;

use crate::path::{Path, Source, SourceCounts};

/// The associations by connection ID and by address, and how many each source has.
#[derive(Default)]
pub(crate) struct Routes {
    by_id: HashMap<ConnectionId, u64>,
    /// Where the peers are whose records name no association.
    by_path: HashMap<Path, AtPath>,
    per_source: SourceCounts,
}

#[derive(Default, Clone, Copy)]
struct AtPath {
    /// The association with a complete handshake whose records have no connection ID.
    live: Option<u64>,
    /// One whose handshake isn't complete.
    beginning: Option<Beginning>,
}

#[derive(Clone, Copy)]
struct Beginning {
    id: u64,
    random: HelloRandom,
}

/// The beginning of a ClientHello's random: another ClientHello has another.
pub(crate) type HelloRandom = [u8; 8];

impl Routes {
    /// Returns the association that a connection ID of `len` bytes in the datagram names: `Some(None)` for one that is
    /// unknown.
    pub(crate) fn by_id(&self, datagram: &[u8], len: usize) -> Option<Option<u64>> {
        let id = connection_id_of(datagram, len)?;
        Some(self.by_id.get(&id).copied())
    }

    /// Returns the association at this path to which a datagram belongs, if it names none.
    pub(crate) fn by_path(&self, path: &Path, datagram: &[u8]) -> Option<u64> {
        let at = self.by_path.get(path)?;
        // The epochs of a handshake: none, early data, the handshake's, the authenticated handshake's.
        let first = *datagram.first()?;
        let is_of_handshake = !is_protected(first) || first & 3 != OF_DATA;
        match (at.beginning.map(|it| it.id), at.live) {
            (Some(beginning), Some(live)) => Some(if is_of_handshake { beginning } else { live }),
            (beginning, live) => beginning.or(live),
        }
    }

    /// Returns whether an association belongs to this connection ID.
    pub(crate) fn has_id(&self, id: &ConnectionId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Returns whether an association with a complete handshake is at this path, and no other begins there.
    pub(crate) fn is_settled(&self, path: &Path) -> bool {
        self.by_path.get(path).is_some_and(|at| at.live.is_some() && at.beginning.is_none())
    }

    /// Returns the random of the ClientHello whose handshake is under way at this path.
    pub(crate) fn beginning(&self, path: &Path) -> Option<HelloRandom> {
        self.by_path.get(path)?.beginning.map(|it| it.random)
    }

    /// Returns the association with a complete handshake at this path.
    pub(crate) fn live(&self, path: &Path) -> Option<u64> {
        self.by_path.get(path)?.live
    }

    pub(crate) fn count_of(&self, path: &Path) -> usize {
        self.count_at(path.source())
    }

    /// Returns how many associations a source has.
    pub(crate) fn count_at(&self, source: Source) -> usize {
        self.per_source.of(source)
    }

    /// Adds an association whose handshake was completed elsewhere.
    pub(crate) fn restore(&mut self, id: u64, path: Path, source: Source, has_id: bool) {
        self.per_source.add(source);
        self.complete(id, path, has_id);
    }

    /// Adds an association whose handshake begins; returns one that it replaces there, whose handshake isn't complete.
    pub(crate) fn begin(&mut self, id: u64, path: Path, random: HelloRandom) -> Option<u64> {
        self.per_source.add(path.source());
        let beginning = &mut self.by_path.entry(path).or_default().beginning;
        beginning.replace(Beginning { id, random }).map(|replaced| replaced.id)
    }

    /// Notes that the handshake is complete; returns the association that it replaces at its path (RFC 9147 §5.11). With
    /// a selector of its own it replaces none, and no address leads to it any more.
    pub(crate) fn complete(&mut self, id: u64, path: Path, has_selector: bool) -> Option<u64> {
        if has_selector {
            self.leave(id, path);
            return None;
        }
        let at = self.by_path.entry(path).or_default();
        at.beginning = at.beginning.filter(|it| it.id != id);
        at.live.replace(id).filter(|earlier| *earlier != id)
    }

    /// Adds a connection ID of an association.
    pub(crate) fn add_id(&mut self, id: u64, connection_id: &ConnectionId) {
        if !connection_id.is_empty() {
            self.by_id.insert(connection_id.clone(), id);
        }
    }

    /// Removes a connection ID.
    pub(crate) fn remove_id(&mut self, connection_id: &ConnectionId) {
        self.by_id.remove(connection_id);
    }

    /// Removes an association, which counts at `source`.
    pub(crate) fn remove(&mut self, id: u64, path: Path, source: Source) {
        self.leave(id, path);
        self.per_source.remove(source);
    }

    /// Lets nothing at this path lead to an association.
    pub(crate) fn leave(&mut self, id: u64, path: Path) {
        if let Some(at) = self.by_path.get_mut(&path) {
            at.live = at.live.filter(|it| *it != id);
            at.beginning = at.beginning.filter(|it| it.id != id);
            if at.live.is_none() && at.beginning.is_none() {
                self.by_path.remove(&path);
            }
        }
    }
}

/// The epoch bits of data, until the first KeyUpdate (RFC 9147 §6.1, docs/kem-auth.md §8).
pub(crate) const OF_DATA: u8 = 3;

/// Returns whether a record with this first byte is protected: a DTLSCiphertext (RFC 9147 §4).
pub(crate) fn is_protected(first: u8) -> bool {
    first & 0b1110_0000 == 0b0010_0000
}
