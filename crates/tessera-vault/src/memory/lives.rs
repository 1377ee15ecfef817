//! A memory vault with a directory: how its secrets pass from one process to the next, and how it knows that
//! those of a crashed process are gone.

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
use crate::memory::chunks::Handover;
use crate::memory::home::{ContentValidity, Home};
use crate::memory::snapshot::{SnapshotWriter, read_snapshot};
use crate::memory::store::{Incoming, Record};
use crate::memory::witness::Witness;
use crate::millis::seconds;

/// What a vault found in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreOutcome {
    /// No snapshot: this is the first life, or the previous one ended without [`close`](MemoryVault::close).
    Nothing,
    /// The snapshot of a clean shutdown, with this many unexpired secrets.
    Secrets(usize),
    /// An unusable snapshot: damaged, or under a missing key. Its secrets are gone.
    Discarded,
    /// The directory is not as its last owner left it: it was rolled back, restored or copied, or the
    /// [`Witness`] has forgotten it. None of its content is used. The vault has a new identity, to which the
    /// keys of all earlier tickets are unknown. See [`MemoryVault::open_witnessed`].
    RolledBack,
}

impl MemoryVault {
    /// Opens the vault of a directory at `now` (since the Unix epoch), and creates the directory if missing.
    /// The vault owns it until it is dropped or the process ends, however it ends.
    ///
    /// If the previous process ended with [`close`](Self::close), the vault has its secrets again. The
    /// snapshot is unlinked and the directory synchronised before this returns: it can't be loaded twice. A
    /// crashed process left no snapshot, and its secrets are gone.
    ///
    /// Forward secrecy of a snapshot's content depends on the keys in `keys`: disks keep the blocks of
    /// unlinked files. A directory restored from a backup, or with a virtual machine, brings taken secrets
    /// back, and nothing here detects it (see [`open_witnessed`](Self::open_witnessed)): keep it out of
    /// backups, on a local file system, and empty it in a copy of a machine.
    ///
    /// A snapshot records which secrets belong to the same client, but not which client: the next life counts
    /// them as another client's.
    ///
    /// Blocks on disk I/O.
    ///
    /// # Errors
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if another process owns the directory; other errors
    /// of the file system; [`InvalidData`](io::ErrorKind::InvalidData) if the state file is damaged.
    pub fn open(
        dir: &Path,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, RestoreOutcome)> {
        Self::open_home(dir, None, limits, provider, keys, now)
    }

    /// Opens the vault of a directory like [`open`](Self::open), if `witness` confirms its state: one that
    /// was rolled back, or copied while closed, is [`RestoreOutcome::RolledBack`]. So is a copy of one in use, if
    /// the witness can detect that; if it can't, a vault that was not closed gets a new identity, and its
    /// clients get `unknown` instead of `lost`. A crash between the updates of witness and directory also
    /// looks like a rollback.
    ///
    /// No witness helps if a machine is copied with a filled vault in its memory, or together with its
    /// witness.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), and those of the witness.
    pub fn open_witnessed(
        dir: &Path,
        witness: Arc<dyn Witness>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, RestoreOutcome)> {
        Self::open_home(dir, Some(witness), limits, provider, keys, now)
    }

    fn open_home(
        dir: &Path,
        witness: Option<Arc<dyn Witness>>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
    ) -> io::Result<(Self, RestoreOutcome)> {
        let dir = Arc::new(OwnedDirectory::lock(dir)?);
        Self::open_owned(dir, witness, limits, provider, keys, now, |_| Ok(()))
    }

    /// Opens the vault of a locked directory. `found` reads what comes with a snapshot; without one, since it is unusable,
    /// `found` decides about that: if it fails, the directory is left unchanged.
    pub(crate) fn open_owned(
        dir: Arc<OwnedDirectory>,
        witness: Option<Arc<dyn Witness>>,
        limits: Limits,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
        found: impl FnOnce(Option<Handover<'_>>) -> io::Result<()>,
    ) -> io::Result<(Self, RestoreOutcome)> {
        let mut vault = Self::with_limits(limits);
        let mut restored = RestoreOutcome::Nothing;
        let (home, kept) = Home::open(dir, provider.random, witness, |file, incarnation, name| {
            let handover = Handover { keys, unix: now, incarnation, name };
            restored = match read_snapshot(file, handover) {
                Some(records) => {
                    found(Some(handover))?;
                    RestoreOutcome::Secrets(vault.restore(records, now))
                }
                None => {
                    found(None)?;
                    RestoreOutcome::Discarded
                }
            };
            Ok(restored != RestoreOutcome::Discarded)
        })?;
        vault.home = Some(home);
        Ok((
            vault,
            if kept == ContentValidity::Nothing { RestoreOutcome::RolledBack } else { restored },
        ))
    }

    /// Ends the vault at `now` (since the Unix epoch): from here on it takes and returns nothing, and its
    /// content is in a snapshot in its directory, wrapped under `keys`, for the next process. A vault without
    /// a directory forgets everything. Only the first call has an effect.
    ///
    /// Blocks on disk I/O.
    ///
    /// # Errors
    /// Returns the errors of the file system, or an error if no key wraps. The secrets are gone then.
    pub fn close(&self, provider: &Provider, keys: &WrappingKeys, now: Duration) -> io::Result<()> {
        self.close_with(provider, keys, now, |_| ())
    }

    /// As [`close`](Self::close); `write_more` writes what else the next process gets with the snapshot.
    pub(crate) fn close_with(
        &self,
        provider: &Provider,
        keys: &WrappingKeys,
        now: Duration,
        write_more: impl FnOnce(Handover<'_>),
    ) -> io::Result<()> {
        if self.closed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let records = self.content().store.close(&self.hashing);
        let Some(home) = &self.home else { return Ok(()) };
        home.save(provider.random, |out, incarnation, name| {
            let handover = Handover { keys, unix: now, incarnation, name };
            write_more(handover);
            let mut snapshot = SnapshotWriter::new(out, handover)?;
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
                    // The owner's name is lost; that the secrets share one owner suffices for fairness.
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

/// No client's name hashes like this.
const OWNER: &str = "who had these before";
