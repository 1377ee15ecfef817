//! A witness in etcd for the directories of memory vaults.

use std::io;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tessera_vault::{Mark, Witness, WitnessOutcome};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::api::{Compare, Op, Put, Txn};
use crate::client::EtcdClient;

/// Remembers in etcd how the directories of memory vaults were left.
///
/// A directory that is rolled back, or copied together with its machine, gets a new identity
/// ([`open_witnessed`](tessera_vault::MemoryVault::open_witnessed)).
///
/// etcd can't tell whether the owner of a directory is alive. After a crash a server gets a new identity as well: its
/// clients receive `unknown` for earlier flights, where they would receive `lost` without a witness. The same happens
/// if etcd replaced a mark and its answer was lost.
///
/// It blocks on its runtime, so use it where blocking is allowed ([`spawn_blocking`](tokio::task::spawn_blocking)). Its
/// keys (100 bytes for each vault) are never deleted.
pub struct EtcdWitness {
    client: EtcdClient,
    prefix: String,
    runtime: Handle,
}

impl EtcdWitness {
    /// Creates a witness whose keys in etcd begin with `prefix`.
    ///
    /// Its requests run on the tokio runtime in which this is called.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(client: EtcdClient, prefix: impl Into<String>) -> Self {
        Self { client, prefix: prefix.into(), runtime: Handle::current() }
    }
}

impl Witness for EtcdWitness {
    fn replace(
        &self,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        new: &Mark,
    ) -> io::Result<WitnessOutcome> {
        let key = [self.prefix.as_bytes(), vault].concat();
        let unchanged = match expected {
            Some(mark) => Compare::is_equal(&key, &mark.0),
            None => Compare::is_absent(&key),
        };
        let success = vec![Op::Put(Put::new(&key, &new.0, None))];
        let txn = Txn { compare: vec![unchanged], success, failure: Vec::new() };
        let (answer, answered) = sync_channel(1);
        let client = self.client.clone();
        self.runtime.spawn(async move { answer.send(client.txn(&txn).await) });
        // The request ends by itself unless its runtime is blocked, for example if this runs on the only thread of that
        // runtime.
        let patience = self.client.deadline().duration_since(Instant::now()) + GRACE;
        let done = answered.recv_timeout(patience).map_err(|_| {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "no answer from etcd, since the runtime of its requests is blocked: use the witness where blocking is \
                 allowed (spawn_blocking)",
            )
        })?;
        match done.map_err(io::Error::other)?.succeeded {
            true => Ok(WitnessOutcome::Replaced { hold: None }),
            false => Ok(WitnessOutcome::Differs),
        }
    }
}

/// How long to wait for an answer after its deadline.
const GRACE: Duration = Duration::from_secs(1);
