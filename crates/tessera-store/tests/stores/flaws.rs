//! Tests the contract itself: stores with one flaw each break it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera_store::{
    Change, ChangedEntry, Condition, FileStore, LeaseId, Pending, Revision, Snapshot, Store,
    Transaction, Watch, contract,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::common::Directory;

/// The flaw of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    /// Loses the last condition of a transaction.
    LosesTheLastCondition,
    /// Loses conditions that an entry is absent.
    LosesAbsent,
    /// Loses conditions that an entry is unchanged.
    LosesUnchanged,
    /// Takes `Unchanged` at revision 0 for `Absent`, as etcd does.
    TakesZeroForAbsent,
    /// Loses conditions on a prefix.
    LosesNoneWrittenSince,
    /// Looks for a prefix's entries written at this revision, too.
    CountsTheRevisionItself,
    /// Checks conditions, and applies the changes later.
    TwoSteps,
    /// Applies the first change of a transaction only.
    AppliesHalf,
    /// Applies each change by itself.
    AppliesOneByOne,
    /// Takes the last of two changes of a key.
    TakesTheLastOfTwo,
    /// Cuts values.
    CutsLongValues,
    /// Reads a prefix in two halves.
    ReadsInHalves,
    /// Reads what was there at the last but one read.
    ReadsOldSnapshots,
    /// Takes keys for text.
    TakesKeysForText,
    /// Reads keys next to the prefix.
    ReadsNeighbours,
    /// Returns entries in reverse order.
    ReadsBackwards,
    /// Its revisions go back now and then.
    RevisionGoesBack,
    /// Two commits have the same revision.
    RevisionStays,
    /// A watch skips a change.
    WatchSkips,
    /// A watch repeats a change.
    WatchRepeats,
    /// A watch returns the changes of one revision one by one.
    WatchSplits,
    /// A watch begins at the present.
    WatchBeginsNow,
    /// A watch has no deletions.
    WatchForgetsDeletions,
    /// A watch has what it was at work on, when its future is dropped.
    WatchLosesWhenDropped,
    /// A watch has its neighbours' changes.
    WatchSeesNeighbours,
    /// A watch stops after some changes.
    WatchStops,
    /// A lease never ends.
    LeaseNeverEnds,
    /// A lease ends after half of its lifetime.
    LeaseEndsEarly,
    /// A lease ends whether or not it is kept alive.
    LeaseIsNotKeptAlive,
    /// A lease that has ended is reported as kept alive.
    DeadLeaseLives,
    /// Entries of a revoked lease stay.
    RevokeDoesNothing,
    /// Entries under a lease that has ended stay for ever.
    DeadLeaseTakesEntries,
    /// A put changes no lease.
    FirstLeaseStays,
}

const FLAWS: &[Flaw] = &[
    Flaw::LosesTheLastCondition,
    Flaw::LosesAbsent,
    Flaw::LosesUnchanged,
    Flaw::TakesZeroForAbsent,
    Flaw::LosesNoneWrittenSince,
    Flaw::CountsTheRevisionItself,
    Flaw::TwoSteps,
    Flaw::AppliesHalf,
    Flaw::AppliesOneByOne,
    Flaw::TakesTheLastOfTwo,
    Flaw::CutsLongValues,
    Flaw::ReadsInHalves,
    Flaw::ReadsOldSnapshots,
    Flaw::TakesKeysForText,
    Flaw::ReadsNeighbours,
    Flaw::ReadsBackwards,
    Flaw::RevisionGoesBack,
    Flaw::RevisionStays,
    Flaw::WatchSkips,
    Flaw::WatchRepeats,
    Flaw::WatchSplits,
    Flaw::WatchBeginsNow,
    Flaw::WatchForgetsDeletions,
    Flaw::WatchLosesWhenDropped,
    Flaw::WatchSeesNeighbours,
    Flaw::WatchStops,
    Flaw::LeaseNeverEnds,
    Flaw::LeaseEndsEarly,
    Flaw::LeaseIsNotKeptAlive,
    Flaw::DeadLeaseLives,
    Flaw::RevokeDoesNothing,
    Flaw::DeadLeaseTakesEntries,
    Flaw::FirstLeaseStays,
];

/// A store in a file, and what a flaw makes of it.
struct FlawedStore {
    flaw: Flaw,
    inner: FileStore,
    commits: AtomicU64,
    last_read: Mutex<Option<Snapshot>>,
    /// The first lease of each key.
    leases: Mutex<HashMap<Vec<u8>, LeaseId>>,
}

impl FlawedStore {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn spoil_conditions(&self, conditions: &mut Vec<Condition>) {
        match self.flaw {
            Flaw::LosesTheLastCondition => drop(conditions.pop()),
            Flaw::LosesAbsent => conditions.retain(|it| !matches!(it, Condition::Absent(_))),
            Flaw::LosesUnchanged => conditions.retain(|it| !matches!(it, Condition::Unchanged(..))),
            Flaw::LosesNoneWrittenSince => {
                conditions.retain(|it| !matches!(it, Condition::NoneWrittenSince(..)));
            }
            _ => (),
        }
        for condition in conditions {
            *condition = match condition.clone() {
                Condition::Unchanged(key, Revision(0)) if self.is(Flaw::TakesZeroForAbsent) => {
                    Condition::Absent(key)
                }
                Condition::NoneWrittenSince(prefix, Revision(since))
                    if self.is(Flaw::CountsTheRevisionItself) =>
                {
                    Condition::NoneWrittenSince(prefix, Revision(since.saturating_sub(1)))
                }
                other => other,
            };
        }
    }

    async fn spoil_changes(&self, changes: &mut Vec<Change>) {
        match self.flaw {
            Flaw::AppliesHalf => changes.truncate(1),
            Flaw::TakesTheLastOfTwo => {
                let last = changes.clone();
                let key = |change: &Change| match change {
                    Change::Put { key, .. } | Change::Delete { key } => key.clone(),
                };
                let mut at = 0;
                changes.retain(|change| {
                    at += 1;
                    last[at..].iter().all(|later| key(later) != key(change))
                });
            }
            Flaw::CutsLongValues => changes.iter_mut().for_each(|change| {
                if let Change::Put { value, .. } = change {
                    value.truncate(1024 * 1024 - 1);
                }
            }),
            _ => (),
        }
        for change in changes {
            let Change::Put { key, lease, .. } = change else { continue };
            match (self.flaw, &lease) {
                (Flaw::DeadLeaseTakesEntries, Some(name))
                    if self.inner.keep_alive(name).await == Ok(false) =>
                {
                    *lease = None;
                }
                (Flaw::FirstLeaseStays, _) => {
                    let mut first = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
                    match first.get(&key[..]) {
                        Some(name) => *lease = Some(name.clone()),
                        None => drop(lease.clone().map(|name| first.insert(key.clone(), name))),
                    }
                }
                _ => (),
            }
        }
    }
}

impl Store for FlawedStore {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        Box::pin(async move {
            let text = String::from_utf8_lossy(prefix).into_owned();
            let prefix = match self.flaw {
                Flaw::TakesKeysForText => text.as_bytes(),
                Flaw::ReadsNeighbours => &prefix[..prefix.len().saturating_sub(1)],
                _ => prefix,
            };
            let mut snapshot = self.inner.read(prefix).await?;
            match self.flaw {
                Flaw::ReadsInHalves => {
                    sleep(Duration::from_millis(5)).await;
                    let later = self.inner.read(prefix).await?;
                    let half = snapshot.entries.len() / 2;
                    snapshot.entries.truncate(half);
                    snapshot.entries.extend(later.entries.into_iter().skip(half));
                    snapshot.revision = later.revision;
                }
                Flaw::ReadsOldSnapshots => {
                    let mut last = self.last_read.lock().unwrap_or_else(PoisonError::into_inner);
                    let older = last.replace(snapshot.clone());
                    snapshot = older.unwrap_or(snapshot);
                }
                Flaw::ReadsBackwards => snapshot.entries.reverse(),
                _ => (),
            }
            Ok(snapshot)
        })
    }

    fn commit(&self, mut it: Transaction) -> Pending<'_, Option<Revision>> {
        Box::pin(async move {
            self.spoil_conditions(&mut it.conditions);
            self.spoil_changes(&mut it.changes).await;
            if self.is(Flaw::TwoSteps) {
                let conditions = std::mem::take(&mut it.conditions);
                let check = Transaction { conditions, changes: Vec::new() };
                if self.inner.commit(check).await?.is_none() {
                    return Ok(None);
                }
                sleep(Duration::from_millis(2)).await;
            }
            if self.is(Flaw::AppliesOneByOne) && it.changes.len() > 1 {
                let last = it.changes.split_off(it.changes.len() - 1);
                if self.inner.commit(it).await?.is_none() {
                    return Ok(None);
                }
                it = Transaction { conditions: Vec::new(), changes: last };
            }
            let revision = self.inner.commit(it).await?;
            let number = self.commits.fetch_add(1, Ordering::Relaxed);
            Ok(revision.map(|Revision(revision)| match self.flaw {
                Flaw::RevisionGoesBack if number % 16 == 15 => Revision(revision - 2),
                Flaw::RevisionStays => Revision(revision & !1),
                _ => Revision(revision),
            }))
        })
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        self.inner.grant(match self.flaw {
            Flaw::LeaseNeverEnds => Duration::from_secs(1_000_000),
            Flaw::LeaseEndsEarly => lifetime / 2,
            _ => lifetime,
        })
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        match self.flaw {
            Flaw::LeaseIsNotKeptAlive => Box::pin(async { Ok(true) }),
            Flaw::DeadLeaseLives => {
                Box::pin(async { self.inner.keep_alive(lease).await.map(|_| true) })
            }
            _ => self.inner.keep_alive(lease),
        }
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        match self.flaw {
            Flaw::RevokeDoesNothing => Box::pin(async { Ok(()) }),
            _ => self.inner.revoke(lease),
        }
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        Box::pin(async move {
            let prefix = match self.flaw {
                Flaw::WatchSeesNeighbours => &prefix[..prefix.len().saturating_sub(1)],
                _ => prefix,
            };
            let after = match self.flaw {
                Flaw::WatchBeginsNow => self.inner.read(prefix).await?.revision,
                _ => after,
            };
            let inner = self.inner.watch(prefix, after).await?;
            let watch = FlawedWatch { flaw: self.flaw, inner, kept: Vec::new(), count: 0 };
            Ok(Box::new(watch) as Box<dyn Watch>)
        })
    }
}

struct FlawedWatch {
    flaw: Flaw,
    inner: Box<dyn Watch>,
    /// Changes for the next call.
    kept: Vec<ChangedEntry>,
    count: usize,
}

impl Watch for FlawedWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async {
            loop {
                if !self.kept.is_empty() {
                    return Ok(vec![self.kept.remove(0)]);
                }
                let mut changes = self.inner.next().await?;
                self.count += 1;
                match self.flaw {
                    Flaw::WatchSkips if self.count % 8 == 7 => drop(changes.pop()),
                    Flaw::WatchRepeats if self.count % 8 == 7 => self.kept.clone_from(&changes),
                    Flaw::WatchSplits => {
                        self.kept = changes;
                        continue;
                    }
                    Flaw::WatchForgetsDeletions => {
                        changes.retain(|change| matches!(change, ChangedEntry::Put(_)));
                    }
                    Flaw::WatchLosesWhenDropped => sleep(Duration::from_millis(1)).await,
                    Flaw::WatchStops if self.count > 10 => std::future::pending().await,
                    _ => (),
                }
                if !changes.is_empty() {
                    return Ok(changes);
                }
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_of_stores_finds_every_flaw() {
    let directory = Directory::new();
    let mut tests = JoinSet::new();
    for (number, flaw) in FLAWS.iter().enumerate() {
        let inner = FileStore::open(&directory.path().join(number.to_string())).unwrap();
        let (commits, last_read, leases) = Default::default();
        let store = FlawedStore { flaw: *flaw, inner, commits, last_read, leases };
        let store: Arc<dyn Store> = Arc::new(store);
        tests.spawn(async move {
            let test = tokio::spawn(async move { contract::store(|| store.clone()).await });
            (*flaw, test.await.is_ok())
        });
    }
    let passed: Vec<_> = tests.join_all().await.into_iter().filter(|(_, passed)| *passed).collect();
    assert!(passed.is_empty(), "the contract doesn't see {passed:?}");
}
