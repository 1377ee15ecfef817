//! Which association a datagram belongs to.

use std::collections::HashMap;

use tessera::ConnectionId;
use tessera::face::connection_id_of;

use crate::path::{Path, Source};

/// The associations by connection ID and by address, and how many each source has.
#[derive(Default)]
pub(crate) struct Routes {
    by_id: HashMap<ConnectionId, u64>,
    /// Where the peer is: the association with a complete handshake, and one that would replace it.
    by_path: HashMap<Path, AtPath>,
    per_source: HashMap<Source, usize>,
}

#[derive(Default, Clone, Copy)]
struct AtPath {
    live: Option<u64>,
    beginning: Option<u64>,
}

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
        // The epochs of the handshake: none, early data, the handshake's.
        let is_of_handshake = match datagram.first()? {
            first if first & 0b1110_0000 == 0b0010_0000 => matches!(first & 3, 1 | 2),
            _ => true,
        };
        match (at.beginning, at.live) {
            (Some(beginning), Some(live)) => Some(if is_of_handshake { beginning } else { live }),
            (beginning, live) => beginning.or(live),
        }
    }

    /// Returns whether an association with a complete handshake is at this path, and no other begins there.
    pub(crate) fn is_settled(&self, path: &Path) -> bool {
        self.by_path.get(path).is_some_and(|at| at.live.is_some() && at.beginning.is_none())
    }

    pub(crate) fn count_of(&self, path: &Path) -> usize {
        self.per_source.get(&path.source()).copied().unwrap_or(0)
    }

    /// Adds an association whose handshake begins; returns one that it replaces there, whose handshake isn't complete.
    pub(crate) fn begin(&mut self, id: u64, path: Path, own_id: &ConnectionId) -> Option<u64> {
        if !own_id.is_empty() {
            self.by_id.insert(own_id.clone(), id);
        }
        *self.per_source.entry(path.source()).or_default() += 1;
        self.by_path.entry(path).or_default().beginning.replace(id)
    }

    /// Notes that the handshake is complete; returns the association that it replaces (RFC 9147 §5.11).
    pub(crate) fn complete(&mut self, id: u64, path: Path) -> Option<u64> {
        let at = self.by_path.entry(path).or_default();
        if at.beginning == Some(id) {
            at.beginning = None;
        }
        at.live.replace(id).filter(|earlier| *earlier != id)
    }

    /// Moves an association; returns one that was at the new path.
    pub(crate) fn move_to(&mut self, id: u64, from: Path, to: Path) -> Option<u64> {
        self.leave(id, from);
        *self.per_source.entry(to.source()).or_default() += 1;
        let at = self.by_path.entry(to).or_default();
        at.live.replace(id).filter(|earlier| *earlier != id)
    }

    /// Removes an association.
    pub(crate) fn remove(&mut self, id: u64, path: Path, own_id: &ConnectionId) {
        self.by_id.remove(own_id);
        self.leave(id, path);
    }

    fn leave(&mut self, id: u64, path: Path) {
        if let Some(at) = self.by_path.get_mut(&path) {
            at.live = at.live.filter(|it| *it != id);
            at.beginning = at.beginning.filter(|it| *it != id);
            if at.live.is_none() && at.beginning.is_none() {
                self.by_path.remove(&path);
            }
        }
        let source = path.source();
        if let Some(count) = self.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&source);
            }
        }
    }
}
