//! Received data that waits for its reader.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera_endpoint::Foreign;
use zeroize::optimization_barrier;

/// The data of a datagram, decrypted. Wiped on drop.
pub struct ReceivedDatagram {
    data: Vec<u8>,
    is_early: bool,
}

impl ReceivedDatagram {
    pub(super) fn new(data: Vec<u8>, is_early: bool) -> Self {
        Self { data, is_early }
    }

    /// Returns whether it is early data. Until the handshake is complete, replayable early data may not come from this
    /// connection's client; forward-secret early data is accepted at most once in any case.
    pub fn is_early(&self) -> bool {
        self.is_early
    }
}

impl Deref for ReceivedDatagram {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.data
    }
}

/// Omits the data.
impl fmt::Debug for ReceivedDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("ReceivedDatagram");
        it.field("len", &self.data.len()).field("is_early", &self.is_early).finish_non_exhaustive()
    }
}

impl Drop for ReceivedDatagram {
    fn drop(&mut self) {
        wipe(&mut self.data);
    }
}

/// A datagram that isn't DTLS 1.3.
#[derive(Debug, Clone)]
pub struct ForeignDatagram {
    /// Its protocol.
    pub kind: Foreign,
    /// Where it came from.
    pub from: SocketAddr,
    pub(super) data: Vec<u8>,
}

impl Deref for ForeignDatagram {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.data
    }
}

/// Wipes plaintext. `Zeroize` does so byte by byte, which would cost as much as decrypting.
pub(super) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// What has arrived, in the order of arrival, bounded.
pub(super) struct Inbox<T> {
    received: VecDeque<T>,
    size: usize,
    room: InboxRoom,
    /// How many were dropped because there was no room.
    pub(super) dropped: u64,
}

/// The room that all inboxes of a socket share. An inbox takes at most a share of what is free, so that those that fill
/// leave room for others, and a little in any case.
#[derive(Clone, Default)]
pub(super) struct InboxRoom {
    used: Arc<AtomicUsize>,
}

impl InboxRoom {
    /// Returns how many bytes an inbox may have in all.
    fn limit(&self) -> usize {
        let free = ALL_LIMIT.saturating_sub(self.used.load(Ordering::Relaxed));
        (free / SHARE).clamp(ALWAYS, LIMIT)
    }
}

impl<T: Deref<Target = [u8]>> Inbox<T> {
    pub(super) fn new(room: InboxRoom) -> Self {
        Self { received: VecDeque::new(), size: 0, room, dropped: 0 }
    }

    /// Adds a datagram, or drops it if there is no room.
    pub(super) fn push(&mut self, received: T) {
        let size = size(&received);
        if self.size + size > self.room.limit() {
            self.dropped += 1;
            return;
        }
        self.size += size;
        self.room.used.fetch_add(size, Ordering::Relaxed);
        self.received.push_back(received);
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        let first = self.received.pop_front()?;
        self.free(size(&first));
        if self.received.is_empty() {
            // An idle connection holds no memory for it.
            self.received = VecDeque::new();
        }
        Some(first)
    }

    pub(super) fn clear(&mut self) {
        self.received = VecDeque::new();
        self.free(self.size);
    }
}

impl<T> Inbox<T> {
    fn free(&mut self, size: usize) {
        self.size -= size;
        self.room.used.fetch_sub(size, Ordering::Relaxed);
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        self.free(self.size);
    }
}

fn size(received: &[u8]) -> usize {
    received.len() + OVERHEAD
}

/// The most memory that waiting data of one inbox takes, in bytes.
const LIMIT: usize = 128 * 1024;

/// What each inbox has room for, however full the others are, in bytes: a datagram of the usual length.
const ALWAYS: usize = 2 * 1024;

/// The most memory that waiting data of all inboxes of a socket takes, in bytes, without what each always has room for.
const ALL_LIMIT: usize = 64 * 1024 * 1024;

/// An inbox takes at most one part in so many of what is free.
const SHARE: usize = 8;

/// What a datagram takes besides its data, in bytes.
const OVERHEAD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_is_bounded_and_counts_what_it_drops() {
        let room = InboxRoom::default();
        let mut inbox = Inbox::new(room.clone());
        for index in 0..10_000_u32 {
            inbox.push(ReceivedDatagram::new(index.to_be_bytes().to_vec(), false));
        }
        let kept = 10_000 - inbox.dropped;
        assert_eq!(kept as usize, LIMIT / (4 + OVERHEAD));
        for index in 0..kept {
            assert_eq!(inbox.pop().unwrap()[..], (index as u32).to_be_bytes());
        }
        assert!(inbox.pop().is_none());
        assert_eq!((inbox.size, inbox.received.capacity()), (0, 0));
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn all_inboxes_together_are_bounded_and_an_empty_one_has_room_next_to_full_ones() {
        let room = InboxRoom::default();
        let datagram = || ReceivedDatagram::new(vec![0; 1200], false);
        let fill = |_| {
            let mut inbox = Inbox::new(room.clone());
            while inbox.dropped == 0 {
                inbox.push(datagram());
            }
            inbox
        };
        let full: Vec<_> = (0..2_000).map(fill).collect();
        let used = full.iter().map(|inbox| inbox.size).sum::<usize>();
        assert_eq!(room.used.load(Ordering::Relaxed), used);
        assert!(used <= ALL_LIMIT + full.len() * ALWAYS, "{used}");
        let mut other = Inbox::new(room.clone());
        other.push(datagram());
        assert_eq!(other.dropped, 0);

        drop((full, other));
        assert_eq!(room.used.load(Ordering::Relaxed), 0, "what was dropped frees its room");
    }
}
