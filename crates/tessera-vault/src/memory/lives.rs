//! A memory vault that has a directory: how its secrets go from one process to the next, and how it
//! knows that those of a process that crashed are gone.

use std::hash::BuildHasher;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tessera::crypto::Provider;
use tessera::resume::FlightHandle;

use super::{Content, Limits, MemoryVault};
use crate::directory::OwnedDirectory;
use crate::keys::WrappingKeys;
use crate::memory::accounts::ClientHash;
use crate::memory::home::{Home, Kept};
use crate::memory::snapshot::{SnapshotWriter, read_snapshot};
use crate::memory::store::{Incoming, Record};
use crate::memory::witness::Witness;
use crate::millis::seconds;

/// What a vault found in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restored {
    /// No snapshot: this is the first life, or the one before ended without
    /// [`close`](MemoryVault::close).
    Nothing,
    /// The snapshot of a clean shutdown, with this many secrets that have not expired.
    Secrets(usize),
    /// A snapshot that could not be used: damaged, or under a key that is not here. Its secrets are gone.
    Discarded,
    /// The directory is not as its last owner left it: it was rolled back, restored or copied, or the
    /// [`Witness`] has forgotten it. Nothing of it is used. The vault has a new identity: to it every earlier
    /// ticket's key is unknown. See [`MemoryVault::open_witnessed`].
    RolledBack,
}

impl MemoryVault {
    /// Opens the vault of a directory at `now` (since the Unix epoch), and makes the directory if it is
    /// not there. The vault owns it until it is dropped or the process ends, however it ends.
    ///
    /// If the process before ended with [`close`](Self::close), the vault has its secrets again. The
    /// snapshot is unlinked and the directory synchronised before this returns: it can't be loaded
    /// twice. A process that crashed left none, and its secrets are gone.
    ///
    /// Forward secrecy of what was in a snapshot ends at the keys in `keys`: disks keep the blocks of
    /// unlinked files. A directory that is restored from a backup, or with a virtual machine, brings
    /// taken secrets back, and nothing here notices (see [`open_witnessed`](Self::open_witnessed)): keep it
    /// out of backups, on a local file system, and empty it in a copy of a machine.
    ///
    /// A snapshot knows which of its secrets belong to one client, and not to whom: the next life counts
    /// them as those of another client.
    ///
    /// It waits for the disk.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if another process owns the directory; other errors of
    /// the file system; [`InvalidData`](io::ErrorKind::InvalidData) if the state file is damaged.
    pub fn open(
        dir: &Path,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, Restored)> {
        Self::open_home(dir, None, limits, provider, keys, now)
    }

    /// Opens the vault of a directory as [`open`](Self::open) does, if `witness` knows it as it is: one that
    /// was rolled back, or copied while it was closed, is [`Restored::RolledBack`]. So is a copy of one that
    /// is in use, if the witness can tell; if it can't, a vault that was not closed gets a new identity, and
    /// its clients hear `unknown` instead of `lost`. A crash between the witness and the directory looks like
    /// a rollback as well.
    ///
    /// No witness helps against a machine that is copied with a filled vault in its memory, or together with
    /// its witness.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and those of the witness.
    pub fn open_witnessed(
        dir: &Path,
        witness: Arc<dyn Witness>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, Restored)> {
        Self::open_home(dir, Some(witness), limits, provider, keys, now)
    }

    fn open_home(
        dir: &Path,
        witness: Option<Arc<dyn Witness>>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, Restored)> {
        let dir = Arc::new(OwnedDirectory::lock(dir)?);
        Self::open_owned(dir, witness, limits, provider, keys, now, || Ok(()))
    }

    /// Opens the vault of a directory that is locked. What is to become of a snapshot that can't be used
    /// is said by `discard`; if it fails, the directory is left as it was.
    pub(crate) fn open_owned(
        dir: Arc<OwnedDirectory>,
        witness: Option<Arc<dyn Witness>>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
        discard: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<(Self, Restored)> {
        let mut vault = Self::with_limits(limits);
        let mut restored = Restored::Nothing;
        let (home, kept) = Home::open(dir, provider.random, witness, |file, incarnation, name| {
            restored = match read_snapshot(file, keys, now, incarnation, name) {
                Some(records) => Restored::Secrets(vault.restore(records, now)),
                None => {
                    discard()?;
                    Restored::Discarded
                }
            };
            Ok(restored != Restored::Discarded)
        })?;
        vault.home = Some(home);
        Ok((vault, if kept == Kept::Nothing { Restored::RolledBack } else { restored }))
    }

    /// Ends the vault at `now` (since the Unix epoch): from here on it takes nothing and gives nothing,
    /// and what it had is in a snapshot in its directory, wrapped under `keys`, for the next process. A
    /// vault without a directory forgets all. Only the first call does anything.
    ///
    /// It waits for the disk.
    ///
    /// # Errors
    /// Those of the file system, or if no key wraps. The secrets are gone then.
    pub fn close(&self, provider: &Provider, keys: &WrappingKeys, now: Duration) -> io::Result<()> {
        if self.closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let records = self.content().store.close(&self.hashing);
        let Some(home) = &self.home else { return Ok(()) };
        home.save(provider.random, |out, incarnation, name| {
            let mut snapshot = SnapshotWriter::new(out, keys, now, incarnation, name)?;
            for (handle, record) in &records {
                snapshot.write(handle, record)?;
            }
            snapshot.finish()
        })
    }

    fn restore(&self, records: Vec<(FlightHandle, Record)>, now: Duration) -> usize {
        let Content { store, clock } = &mut *self.content();
        let now = clock.note(seconds(now), Instant::now);
        let hashing = &self.hashing;
        for (handle, record) in records {
            let hash = hashing.hash_one(handle);
            match record {
                Record::Live { expires_at, .. } if expires_at <= now => (),
                Record::Live { stored, expires_at, owner } => {
                    // Whose it is nobody knows any more; that it is one client's is enough to be fair.
                    let client = owner.map(|owner| ClientHash(hashing.hash_one((OWNER, owner))));
                    let new = Incoming { handle: &handle, hash, stored, expires_at, client };
                    store.put(new, now, hashing);
                }
                Record::Gone(fate) => store.remember((&handle, hash), fate, hashing),
            }
        }
        store.len()
    }
}

/// No name is hashed like this.
const OWNER: &str = "who had these before";
