//! A witness in a store for the directories of memory vaults.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tessera_vault::{Mark, Witness, WitnessOutcome};
use tokio::runtime::Handle;

use crate::store::{Change, Condition, Store, StoreError, Transaction};

/// Remembers in a store how the directories of memory vaults were left.
///
/// A directory that is rolled back, or copied together with its machine, gets a new identity
/// ([`open_witnessed`](tessera_vault::MemoryVault::open_witnessed)).
///
/// A store can't tell whether the owner of a directory is alive. After a crash a server gets a new identity as well: its
/// clients receive `unknown` for earlier flights, where they would receive `lost` without a witness. The same happens
/// if the store replaced a mark and its answer was lost.
///
/// It blocks, so use it where blocking is allowed ([`spawn_blocking`](tokio::task::spawn_blocking)). Its entries (100
/// bytes for each vault) are never deleted.
pub struct StoreWitness {
    store: Arc<dyn Store>,
    prefix: String,
    patience: Duration,
    runtime: Handle,
}

impl StoreWitness {
    /// Creates a witness whose entries begin with `prefix`. It fails if its two requests take longer than `patience`
    /// together.
    ///
    /// The requests run on the tokio runtime in which this is called.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(store: Arc<dyn Store>, prefix: impl Into<String>, patience: Duration) -> Self {
        Self { store, prefix: prefix.into(), patience, runtime: Handle::current() }
    }
}

impl Witness for StoreWitness {
    fn replace(
        &self,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome> {
        let (answer, answered) = sync_channel(1);
        let (store, expected, new) = (self.store.clone(), expected.copied(), *new);
        let key = [self.prefix.as_bytes(), vault].concat();
        self.runtime.spawn(async move { answer.send(replace(&*store, key, expected, new).await) });
        let replaced = answered.recv_timeout(self.patience).map_err(|_| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "no answer from the store of the witness: it is too slow, or the runtime of the requests is blocked; use \
                 the witness where blocking is allowed (spawn_blocking)",
            )
        })?;
        match replaced.map_err(io::Error::other)? {
            true => Ok(WitnessOutcome::Replaced { hold: None }),
            false => Ok(WitnessOutcome::Differs),
        }
    }
}

/// Replaces a mark, unless another one is there.
async fn replace(
    store: &dyn Store,
    key: Vec<u8>,
    expected: Option<Mark>,
    new: Mark,
) -> Result<bool, StoreError> {
    let entries = store.read(&key).await?.entries;
    let current = entries.into_iter().find(|entry| entry.key == key);
    let unchanged = match (current, expected) {
        (Some(entry), Some(mark)) if entry.value == mark.0 => {
            Condition::Unchanged(key.clone(), entry.revision)
        }
        (None, None) => Condition::Absent(key.clone()),
        _ => return Ok(false),
    };
    let put = Change::Put { key, value: new.0.to_vec(), lease: None };
    let transaction = Transaction { conditions: vec![unchanged], changes: vec![put] };
    Ok(store.commit(transaction).await?.is_some())
}
