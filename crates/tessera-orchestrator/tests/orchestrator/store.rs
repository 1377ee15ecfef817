//! A store that counts reads, holds them back, and can be lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tessera_store::{
    ChangedEntry, FileStore, LeaseId, Pending, Revision, Snapshot, Store, StoreError, Transaction,
    Watch,
};
use tokio::time::sleep;

/// The store of a pool, as its orchestrator reaches it.
pub struct TestStore {
    store: Arc<FileStore>,
    /// How often the entry of one proxy was read.
    pub proxy_reads: AtomicUsize,
    /// The reads of one client's entry that are under way, and the most that were.
    reading: AtomicUsize,
    pub most_reading: AtomicUsize,
    /// Reads of one client's entry wait.
    pub holds_reads: AtomicBool,
    /// Reads and watches fail.
    pub is_lost: Arc<AtomicBool>,
}

impl TestStore {
    pub fn new(store: Arc<FileStore>) -> Self {
        Self {
            store,
            proxy_reads: AtomicUsize::new(0),
            reading: AtomicUsize::new(0),
            most_reading: AtomicUsize::new(0),
            holds_reads: AtomicBool::new(false),
            is_lost: Arc::default(),
        }
    }
}

/// Notices within some milliseconds that the store is lost.
struct LosableWatch(Box<dyn Watch>, Arc<AtomicBool>);

impl Watch for LosableWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async move {
            let lost = async {
                while !self.1.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(2)).await;
                }
            };
            tokio::select! {
                changes = self.0.next() => changes,
                () = lost => Err(away()),
            }
        })
    }
}

fn away() -> StoreError {
    StoreError::Unknown("the store is lost".into())
}

impl Store for TestStore {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        Box::pin(async move {
            if self.is_lost.load(Ordering::Relaxed) {
                return Err(away());
            }
            if prefix.starts_with(b"/tessera/edge/p/") {
                self.proxy_reads.fetch_add(1, Ordering::Relaxed);
            }
            if prefix.starts_with(b"/tessera/edge/b/") {
                let reading = self.reading.fetch_add(1, Ordering::Relaxed) + 1;
                self.most_reading.fetch_max(reading, Ordering::Relaxed);
                while self.holds_reads.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(2)).await;
                }
                self.reading.fetch_sub(1, Ordering::Relaxed);
            }
            self.store.read(prefix).await
        })
    }

    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>> {
        self.store.commit(transaction)
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        self.store.grant(lifetime)
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        self.store.keep_alive(lease)
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        self.store.revoke(lease)
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        Box::pin(async move {
            if self.is_lost.load(Ordering::Relaxed) {
                return Err(away());
            }
            let watch = self.store.watch(prefix, after).await?;
            Ok(Box::new(LosableWatch(watch, self.is_lost.clone())) as Box<dyn Watch>)
        })
    }
}
