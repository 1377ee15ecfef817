//! A store of one process, in a file.

mod disk;
mod encoding;
mod error;
mod history;
mod lease_ends;
mod state;
mod writer;

use std::future::ready;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout_at;

use crate::store::{
    ChangedEntry, LeaseId, Pending, Revision, Snapshot, Store, StoreError, Transaction, Watch,
};
use disk::StoreFile;
use lease_ends::LeaseEnds;
use state::{State, number};
use writer::{Job, Writer, ends};

pub use error::{FileStoreError, FileStoreProblem};

/// A store in one process, whose file survives it.
///
/// Every commit is durable before it is answered, and before a reader or a watch sees it. The whole file is replaced
/// each time: it holds at most 16 MiB of keys and values, 10,000 entries and 10,000 leases. A store that is full, or
/// whose file system is, refuses what would make it larger, and keeps what it has. It remembers its latest changes, at
/// most 10,000 of 8 MiB, since it was opened: a watch from before them is refused.
///
/// The file has mode 0600. Next to it is a file `.lock` of the same name, which keeps a second process out, and
/// remembers that there was a store. Other users can write to neither, nor to their directory. Values are not
/// encrypted: that is the caller's.
///
/// A store that is opened again has the same revision, and gives each lease its full lifetime again, since its owner
/// could not keep it alive meanwhile. A file that was restored from an older copy has an older revision: clients that
/// have seen a later one must read again.
///
/// Operations end within ten seconds, though a slow disk may execute them later. Awaiting them needs a tokio runtime
/// with timers. A thread of the store's writes the file; dropping the store waits for a writing in progress.
pub struct FileStore {
    /// Taken when the store is dropped, so that the thread ends.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
    /// Limits what waits for the disk.
    room: Arc<Semaphore>,
    states: watch::Receiver<Arc<State>>,
    lease_ends: Arc<Mutex<LeaseEnds>>,
}

/// The most requests that wait for the disk; more wait for these. Each has a few MiB at most.
const MAX_WAITING: usize = 64;

/// The time for an operation, on a disk that hangs.
const DEADLINE: Duration = Duration::from_secs(10);

impl FileStore {
    /// Opens the store in this file, and creates it if there was none. Its directory must exist. Blocks for a few
    /// synchronisations of the disk.
    ///
    /// # Errors
    /// If another process has it open, other users could change it, or it isn't what a store wrote. It is never begun
    /// afresh: the error's text states what to do.
    pub fn open(path: &Path) -> Result<Self, FileStoreError> {
        let (file, content) = StoreFile::open(path, &encoding::encode(&State::default()))?;
        let state = encoding::decode(&content).map_err(|it| FileStoreError::new(path, it))?;
        let mut lease_ends = LeaseEnds::default();
        lease_ends.follow(&state.leases, Instant::now());
        let lease_ends = Arc::new(Mutex::new(lease_ends));
        let (sender, states) = watch::channel(Arc::new(state));
        let (jobs, queue) = mpsc::channel();
        let writer = Writer { file, states: sender, lease_ends: lease_ends.clone() };
        let thread = thread::Builder::new().name("tessera-store".into());
        let thread = thread.spawn(move || writer.run(&queue));
        let thread = Some(thread.map_err(|error| FileStoreError::io(path, error))?);
        let room = Arc::new(Semaphore::new(MAX_WAITING));
        Ok(Self { jobs: Some(jobs), thread, room, states, lease_ends })
    }

    /// Has the thread execute a request, and waits until its result is durable.
    async fn execute<T: Send + 'static>(
        &self,
        request: impl FnOnce(&mut State) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        let place = timeout_at(deadline, self.room.clone().acquire_owned()).await;
        let place = place.map_err(|_| {
            StoreError::NotSent("too many requests wait for the disk, which is slow".into())
        })?;
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |state| {
            let result = request(state);
            Box::new(move |written| {
                // The caller may have left.
                let _ = answer.send(written.and(result));
                drop(place);
            })
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            return Err(StoreError::NotSent("the store's thread has ended".into()));
        }
        match timeout_at(deadline, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(StoreError::Unknown("the store's thread has ended".into())),
            Err(_) => Err(StoreError::Unknown("the disk did not answer in time".into())),
        }
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // The lock is free then.
        if let Some(Err(_)) = self.thread.take().map(thread::JoinHandle::join) {
            tracing::error!("the store's thread has panicked");
        }
    }
}

impl Store for FileStore {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        let state = self.states.borrow().clone();
        Box::pin(ready(Ok(state.read(prefix))))
    }

    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>> {
        Box::pin(self.execute(|state| state.commit(transaction)))
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        let seconds = lifetime.as_secs() + u64::from(lifetime.subsec_nanos() > 0);
        let seconds = u32::try_from(seconds.max(1)).unwrap_or(u32::MAX);
        Box::pin(self.execute(move |state| state.grant(seconds)))
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        let mut ends = ends(&self.lease_ends);
        let lives = number(lease).is_some_and(|lease| ends.keep_alive(lease, Instant::now()));
        Box::pin(ready(Ok(lives)))
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        match number(lease) {
            None => Box::pin(ready(Ok(()))),
            Some(lease) => Box::pin(self.execute(move |state| {
                state.end_lease(lease);
                Ok(())
            })),
        }
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        let states = self.states.clone();
        let is_known = states.borrow().check_knows(after.0);
        let watch = FileWatch { states, prefix: prefix.into(), after: after.0 };
        Box::pin(ready(is_known.map(|()| Box::new(watch) as Box<dyn Watch>)))
    }
}

/// It has no changes of its own: it is only a place in the store's history.
struct FileWatch {
    states: watch::Receiver<Arc<State>>,
    prefix: Vec<u8>,
    after: u64,
}

impl Watch for FileWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async {
            loop {
                let state = self.states.borrow_and_update().clone();
                let changes = state.changes(&self.prefix, self.after)?;
                // Nothing is awaited before these are returned.
                self.after = state.revision;
                if !changes.is_empty() {
                    return Ok(changes);
                }
                let changed = self.states.changed().await;
                changed.map_err(|_| StoreError::NotSent("the store was closed".into()))?;
            }
        })
    }
}
