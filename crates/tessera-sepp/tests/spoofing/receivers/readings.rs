//! What readers find unguarded: whether they can judge at all.

use std::collections::{BTreeMap, BTreeSet};

use super::{LieLines, Program};
use crate::grammar::HostileMessage;

/// By reader.
#[derive(Default)]
pub struct Readings(BTreeMap<&'static str, Reading>);

#[derive(Default)]
struct Reading {
    /// Messages without a trick that is lost on this reader, and those of them in which it finds the lie.
    readable: usize,
    found: usize,
    /// For each trick, the number of messages with it, and of those in which the lie is found.
    tricks: BTreeMap<String, [usize; 2]>,
    unread: &'static [&'static str],
}

impl Readings {
    pub fn count(&mut self, program: &Program, corpus: &[HostileMessage], found: &LieLines) {
        let reading = self.0.entry(program.name).or_default();
        reading.unread = program.unread;
        for (number, hostile) in corpus.iter().enumerate() {
            let is_found = found.contains_key(&number);
            if !hostile.what.iter().any(|trick| program.unread.contains(&&**trick)) {
                reading.readable += 1;
                reading.found += usize::from(is_found);
            }
            for trick in &hostile.what {
                let [all, found] = reading.tricks.entry(trick.clone()).or_default();
                *all += 1;
                *found += usize::from(is_found);
            }
        }
    }

    /// Checks that each reader finds nine of ten readable lies, and each trick except those lost on it. No trick may be
    /// lost on all.
    pub fn check(&self) {
        for (name, reading) in &self.0 {
            let Reading { readable, found, tricks, unread } = reading;
            println!(
                "{name} finds {found} of {readable} lies that it can read, where nothing is guarded"
            );
            assert!(10 * found > 9 * readable, "{name} finds too few lies");
            // Of fewer messages each may have another trick, which is lost.
            let blind = tricks.iter().filter(|(trick, [all, found])| {
                *all >= 3 && *found == 0 && !unread.contains(&&***trick)
            });
            let blind: BTreeSet<_> = blind.map(|(trick, _)| trick).collect();
            assert!(blind.is_empty(), "{name} finds no lie with {blind:?}");
            let gone: Vec<_> =
                unread.iter().filter(|trick| !tricks.contains_key(**trick)).collect();
            assert!(gone.is_empty(), "no message has {gone:?}");
        }
        if let [first, others @ ..] = &*self.0.values().collect::<Vec<_>>() {
            let lost = |trick: &&&str| {
                !others.is_empty() && others.iter().all(|it| it.unread.contains(*trick))
            };
            let lost: Vec<_> = first.unread.iter().filter(lost).collect();
            assert!(lost.is_empty(), "no reader finds {lost:?}");
        }
    }
}
