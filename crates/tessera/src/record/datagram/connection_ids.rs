//! The connection IDs of an association: those that the peer may put into records, and those it gave (RFC 9147 §9).

use alloc::vec::Vec;
use core::mem;

use crate::connection_id::ConnectionId;
use crate::error::Error;
use crate::wire::{Reader, Writer};

/// The connection IDs that the peer may use, all of one length, in the order in which it learned them and should use
/// them; an empty one is none.
#[derive(Default)]
pub(crate) struct OwnConnectionIds {
    ids: Vec<ConnectionId>,
    /// Which the newest record named.
    newest: usize,
}

impl OwnConnectionIds {
    /// Begins with the one of the hello.
    pub(crate) fn agree(&mut self, id: ConnectionId) {
        self.ids = alloc::vec![id];
    }

    /// Returns them all.
    pub(crate) fn all(&self) -> &[ConnectionId] {
        &self.ids
    }

    /// Returns the one of the newest record, unless records have none.
    pub(crate) fn newest(&self) -> Option<&ConnectionId> {
        self.ids.get(self.newest).filter(|id| !id.is_empty())
    }

    /// Notes the one of the newest record.
    pub(super) fn note_newest(&mut self, index: usize) {
        self.newest = index;
    }

    /// Appends them all.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u8(self.newest as u8);
        write_ids(self.ids.iter(), out);
    }

    /// Reads them.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let newest = reader.u8().ok()?.into();
        let ids = read_ids(reader)?;
        (newest < ids.len().max(1)).then_some(Self { ids, newest })
    }

    /// Returns how many more there may be.
    pub(crate) fn room(&self) -> usize {
        MAX_IDS.saturating_sub(self.ids.len() - self.newest)
    }

    /// Adds further ones; returns those that the peer has used up.
    ///
    /// # Errors
    /// There are too many, or one of another length, or one twice.
    pub(crate) fn add(&mut self, ids: &[ConnectionId]) -> Result<Vec<ConnectionId>, Error> {
        if ids.len() > self.room() {
            return Err(Error::Misuse("more connection IDs than an association may have"));
        }
        let len = self.newest().map_or(0, ConnectionId::len);
        let is_new = |(at, id): (usize, &ConnectionId)| {
            !self.ids.contains(id) && !ids[..at].contains(id) && id.len() == len
        };
        if !ids.iter().enumerate().all(is_new) {
            return Err(Error::Misuse("a connection ID twice, or one of another length"));
        }
        let used_up = self.ids.drain(..mem::take(&mut self.newest)).collect();
        self.ids.extend_from_slice(ids);
        Ok(used_up)
    }
}

/// The connection IDs that the peer gave.
#[derive(Default)]
pub(crate) struct PeerConnectionIds {
    /// In records now; empty: none.
    pub(crate) current: ConnectionId,
    spare: Vec<ConnectionId>,
}

impl PeerConnectionIds {
    /// Appends them all.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let ids = [&self.current].into_iter().chain(&self.spare).collect::<Vec<_>>();
        write_ids(ids.into_iter(), out);
    }

    /// Reads them.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let mut ids = Self { current: ConnectionId::default(), spare: read_ids(reader)? };
        (ids.advance() && ids.spare.len() <= MAX_IDS).then_some(ids)
    }

    /// Keeps a further one, if there is room (§9).
    pub(crate) fn keep(&mut self, id: ConnectionId) {
        if self.spare.len() < MAX_IDS {
            self.spare.push(id);
        }
    }

    /// Uses the next one from now on; returns whether there is one.
    pub(crate) fn advance(&mut self) -> bool {
        let has_next = !self.spare.is_empty();
        if has_next {
            self.current = self.spare.remove(0);
        }
        has_next
    }

    /// Swaps the one in use with the next; without one, nothing.
    pub(crate) fn swap_next(&mut self) {
        if let Some(next) = self.spare.first_mut() {
            mem::swap(next, &mut self.current);
        }
    }

    /// Returns how many are kept for later.
    pub(crate) fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Uses none of those that are kept.
    pub(crate) fn discard_spare(&mut self) {
        self.spare = Vec::new();
    }
}

impl ConnectionId {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Self::new(reader.vec8().ok()?)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.vec8(|out| out.bytes(self.as_ref()));
    }
}

/// Appends several connection IDs.
fn write_ids<'i>(ids: impl ExactSizeIterator<Item = &'i ConnectionId>, out: &mut Vec<u8>) {
    // There are less than 20.
    out.u8(ids.len() as u8);
    ids.for_each(|id| id.write(out));
}

/// Reads them.
fn read_ids(reader: &mut Reader<'_>) -> Option<Vec<ConnectionId>> {
    let count = reader.u8().ok()?;
    (0..count).map(|_| ConnectionId::read(reader)).collect()
}

/// The most connection IDs of a direction that are kept.
const MAX_IDS: usize = 8;
