//! ClientHellos that came in several datagrams, before there is an association.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tessera::face::{HelloPart, HelloReader};

use crate::path::{Path, Source};

/// Parts of ClientHellos, bounded in all and for each source.
pub(crate) struct HelloPool {
    hellos: HashMap<Path, PartialHello>,
    /// The order in which they began: all live equally long.
    order: BTreeSet<(Duration, Path)>,
    per_source: HashMap<Source, usize>,
    /// The sum of what each is charged, in bytes, and its bound.
    charged: usize,
    limit: usize,
}

struct PartialHello {
    reader: HelloReader,
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
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            hellos: HashMap::new(),
            order: BTreeSet::new(),
            per_source: HashMap::new(),
            charged: 0,
            limit,
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
                if self.charged > self.limit || hello.datagrams.len() > MAX_DATAGRAMS_LEN {
                    self.remove(&path);
                    return PartOutcome::Dropped;
                }
                PartOutcome::Kept
            }
            HelloPart::Other => {
                self.remove(&path);
                self.begin(path, datagram, fresh, now)
            }
        }
    }

    fn begin(
        &mut self,
        path: Path,
        datagram: &[u8],
        reader: HelloReader,
        now: Duration,
    ) -> PartOutcome {
        let mut hello =
            PartialHello { reader, began: now, datagrams: datagram.to_vec(), charged: 0 };
        hello.charged = hello.len();
        let of_source = self.per_source.get(&path.source()).copied().unwrap_or(0);
        if self.charged + hello.charged > self.limit || of_source >= MAX_PER_SOURCE {
            return PartOutcome::Dropped;
        }
        self.charged += hello.charged;
        *self.per_source.entry(path.source()).or_default() += 1;
        self.order.insert((now, path));
        self.hellos.insert(path, hello);
        PartOutcome::Kept
    }

    /// Removes a ClientHello; returns its datagrams.
    fn remove(&mut self, path: &Path) -> Option<Vec<u8>> {
        let hello = self.hellos.remove(path)?;
        self.order.remove(&(hello.began, *path));
        self.charged -= hello.charged;
        let source = path.source();
        if let Some(count) = self.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&source);
            }
        }
        Some(hello.datagrams)
    }

    /// Drops what is too old.
    fn expire(&mut self, now: Duration) {
        while let Some((began, path)) = self.order.first().copied()
            && now.saturating_sub(began) >= LIFETIME
        {
            self.remove(&path);
        }
    }
}

impl PartialHello {
    fn len(&self) -> usize {
        self.reader.kept() + self.datagrams.len()
    }
}

/// How long parts are kept.
const LIFETIME: Duration = Duration::from_secs(10);

/// The most ClientHellos of one source.
const MAX_PER_SOURCE: usize = 16;

/// The most bytes of the datagrams of one ClientHello: repeated parts count.
const MAX_DATAGRAMS_LEN: usize = 32 * 1024;
