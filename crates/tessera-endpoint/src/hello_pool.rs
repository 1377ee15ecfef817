//! ClientHellos that came in several datagrams, before there is an association.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tessera::face::{HelloPart, HelloReader};

use crate::path::Path;

/// Parts of ClientHellos. The oldest make room for new ones: a flood of parts, which can come from any addresses, keeps
/// out a client only if it fills the pool in the time between two of the client's.
pub(crate) struct HelloPool {
    hellos: HashMap<Path, PartialHello>,
    /// By number, in the order in which they began: all live equally long.
    order: BTreeMap<u64, Path>,
    next_number: u64,
    /// The sum of what each is charged, in bytes, and its bound.
    charged: usize,
    limit: usize,
    /// How long parts are kept.
    lifetime: Duration,
    /// How many were dropped before they were whole, or too old.
    pub(crate) dropped: u64,
}

struct PartialHello {
    reader: HelloReader,
    number: u64,
    began: Duration,
    /// The datagrams as they came, early data after the ClientHello included.
    datagrams: Vec<u8>,
    /// What it adds to the pool's sum, in bytes.
    charged: usize,
}

/// What became of a part.
pub(crate) enum PartOutcome {
    /// The ClientHello is whole: its number, the message, and its datagrams one after the other.
    Whole {
        message_seq: u16,
        message: Vec<u8>,
        datagrams: Vec<u8>,
    },
    Kept,
    Dropped,
}

impl HelloPool {
    pub(crate) fn new(limit: usize, lifetime: Duration) -> Self {
        Self {
            hellos: HashMap::new(),
            order: BTreeMap::new(),
            next_number: 0,
            charged: 0,
            limit,
            lifetime,
            dropped: 0,
        }
    }

    /// Adds a datagram with a part to the ClientHello from its path. `fresh` has read nothing else, and begins a new one
    /// if there is none, or if the datagram contradicts it: of two senders the later may be the client.
    pub(crate) fn add(
        &mut self,
        path: Path,
        datagram: &[u8],
        fresh: HelloReader,
        now: Duration,
    ) -> PartOutcome {
        self.expire(now);
        let Some(hello) = self.hellos.get_mut(&path) else {
            return self.begin(path, datagram, fresh, now);
        };
        match hello.reader.read(datagram) {
            HelloPart::Whole { message_seq, message } => {
                let mut datagrams = self.remove(&path).unwrap_or_default();
                datagrams.extend_from_slice(datagram);
                PartOutcome::Whole { message_seq, message, datagrams }
            }
            HelloPart::Partial => {
                hello.datagrams.extend_from_slice(datagram);
                let more = hello.len().saturating_sub(hello.charged);
                hello.charged += more;
                self.charged += more;
                if hello.datagrams.len() > MAX_DATAGRAMS_LEN {
                    self.remove(&path);
                    self.dropped += 1;
                    return PartOutcome::Dropped;
                }
                self.make_room(path)
            }
            HelloPart::Other => {
                self.remove(&path);
                self.begin(path, datagram, fresh, now)
            }
        }
    }

    /// Returns whether there are parts from this path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.hellos.contains_key(path)
    }

    fn begin(
        &mut self,
        path: Path,
        datagram: &[u8],
        reader: HelloReader,
        now: Duration,
    ) -> PartOutcome {
        let number = self.next_number;
        self.next_number += 1;
        let datagrams = datagram.to_vec();
        let mut hello = PartialHello { reader, number, began: now, datagrams, charged: 0 };
        hello.charged = hello.len();
        self.charged += hello.charged;
        self.order.insert(number, path);
        self.hellos.insert(path, hello);
        self.make_room(path)
    }

    /// Drops the oldest until all fit; returns whether that of `path` is still kept.
    fn make_room(&mut self, path: Path) -> PartOutcome {
        while self.charged > self.limit
            && let Some(oldest) = self.order.values().next().copied()
        {
            self.remove(&oldest);
            self.dropped += 1;
        }
        if self.hellos.contains_key(&path) { PartOutcome::Kept } else { PartOutcome::Dropped }
    }

    /// Removes a ClientHello; returns its datagrams.
    fn remove(&mut self, path: &Path) -> Option<Vec<u8>> {
        let hello = self.hellos.remove(path)?;
        self.order.remove(&hello.number);
        self.charged -= hello.charged;
        Some(hello.datagrams)
    }

    /// Drops what is too old.
    fn expire(&mut self, now: Duration) {
        let lifetime = self.lifetime;
        while let Some(path) = self.order.values().next().copied()
            && self.hellos.get(&path).is_some_and(|it| now.saturating_sub(it.began) >= lifetime)
        {
            self.remove(&path);
        }
    }
}

impl PartialHello {
    fn len(&self) -> usize {
        OVERHEAD + self.reader.kept() + self.datagrams.len()
    }
}

/// What a ClientHello takes besides its bytes: its places in the tables, with their room to grow, and its reader. Half a
/// ClientHello was measured at 1,470 bytes, of which 260 were its own.
const OVERHEAD: usize = 1_280;

/// The most bytes of the datagrams of one ClientHello: repeated parts count.
const MAX_DATAGRAMS_LEN: usize = 32 * 1024;
