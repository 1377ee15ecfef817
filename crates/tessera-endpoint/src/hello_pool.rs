//! ClientHellos that came in several datagrams, before there is an association.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tessera::face::{HelloPart, HelloReader};

use crate::path::{Path, Source};

/// Parts of ClientHellos, bounded in all and for each source.
pub(crate) struct HelloPool {
    hellos: HashMap<Path, PartialHello>,
    /// The order in which they began: all live equally long.
    order: VecDeque<(Duration, Path)>,
    per_source: HashMap<Source, usize>,
    kept: usize,
    limit: usize,
}

struct PartialHello {
    reader: HelloReader,
    began: Duration,
    /// The datagrams as they came, early data after the ClientHello included.
    datagrams: Vec<u8>,
}

/// What became of a part.
pub(crate) enum PartOutcome {
    /// The ClientHello is whole: the message, and its datagrams one after the other.
    Whole(Vec<u8>, Vec<u8>),
    Kept,
    Dropped,
}

impl HelloPool {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            hellos: HashMap::new(),
            order: VecDeque::new(),
            per_source: HashMap::new(),
            kept: 0,
            limit,
        }
    }

    /// Returns whether parts from this path are kept.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.hellos.contains_key(path)
    }

    /// Adds a datagram to the ClientHello from its path; a `reader` that has read it begins a new one.
    pub(crate) fn add(
        &mut self,
        path: Path,
        datagram: &[u8],
        begun: Option<HelloReader>,
        now: Duration,
    ) -> PartOutcome {
        self.expire(now);
        if let Some(reader) = begun {
            return self.begin(path, datagram, reader, now);
        }
        let Some(hello) = self.hellos.get_mut(&path) else { return PartOutcome::Dropped };
        let before = hello.len();
        match hello.reader.read(datagram) {
            HelloPart::Whole(message) => {
                let mut datagrams = self.remove(&path).unwrap_or_default();
                datagrams.extend_from_slice(datagram);
                PartOutcome::Whole(message, datagrams)
            }
            HelloPart::Partial => {
                hello.datagrams.extend_from_slice(datagram);
                let more = hello.len() - before;
                self.kept += more;
                if self.kept > self.limit || hello.datagrams.len() > MAX_DATAGRAMS_LEN {
                    self.remove(&path);
                    return PartOutcome::Dropped;
                }
                PartOutcome::Kept
            }
            HelloPart::Other => PartOutcome::Dropped,
        }
    }

    fn begin(
        &mut self,
        path: Path,
        datagram: &[u8],
        reader: HelloReader,
        now: Duration,
    ) -> PartOutcome {
        let hello = PartialHello { reader, began: now, datagrams: datagram.to_vec() };
        let of_source = self.per_source.get(&path.source()).copied().unwrap_or(0);
        let is_full = self.kept + hello.len() > self.limit || of_source >= MAX_PER_SOURCE;
        if is_full || self.hellos.contains_key(&path) {
            return PartOutcome::Dropped;
        }
        self.kept += hello.len();
        *self.per_source.entry(path.source()).or_default() += 1;
        self.order.push_back((now, path));
        self.hellos.insert(path, hello);
        PartOutcome::Kept
    }

    fn remove(&mut self, path: &Path) -> Option<Vec<u8>> {
        let hello = self.hellos.remove(path)?;
        self.kept -= hello.len();
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
        while let Some((began, path)) = self.order.front().copied()
            && now.saturating_sub(began) >= LIFETIME
        {
            self.order.pop_front();
            if self.hellos.get(&path).is_some_and(|hello| hello.began == began) {
                self.remove(&path);
            }
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
