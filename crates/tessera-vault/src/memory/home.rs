//! The directory of a memory vault: who owns it, which life this is, and the snapshot between two.
//!
//! - `lock` is locked as long as the owner lives: old and new owner never overlap.
//! - `state` names the vault, its incarnation, and the one snapshot that may be loaded.
//! - `snapshot` is there between a clean shutdown and the next start, and at no other time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tessera::crypto::Random;
use tessera::resume::Incarnation;

/// A directory that this process owns.
pub(crate) struct Home {
    dir: PathBuf,
    pub(crate) incarnation: Incarnation,
    /// When the owner before was known to be gone.
    since: Instant,
    /// The lock ends with the file.
    _lock: File,
}

/// Names one snapshot: only the last one is ever loaded, and only once.
pub(crate) type SnapshotName = [u8; 16];

const STATE_LEN: usize = 16 + 8 + 16;

impl Home {
    /// Takes ownership, and reads the snapshot, if there is one to be read. Its file is gone for good
    /// before this returns. `load` reports whether what it read is sound: then the incarnation goes on,
    /// otherwise a new one begins.
    pub(crate) fn open(
        dir: &Path,
        random: &dyn Random,
        load: impl FnOnce(&mut dyn Read, &Incarnation, &SnapshotName) -> bool,
    ) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => (),
        }
        let lock =
            private_file(OpenOptions::new().create(true).truncate(false), &dir.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                "another process owns the vault's directory",
            ),
            TryLockError::Error(error) => error,
        })?;
        let since = Instant::now();
        let state = read_state(dir)?;
        let mut goes_on = false;
        if let Some((incarnation, name)) = &state
            && let Some(name) = name
            && let Some(mut file) = not_missing(File::open(dir.join("snapshot")))?
        {
            goes_on = load(&mut file, incarnation, name);
        }
        let incarnation = match state {
            Some((incarnation, _)) if goes_on => incarnation,
            Some((Incarnation { vault, number }, _)) => {
                Incarnation { vault, number: number.checked_add(1).ok_or_else(damaged)? }
            }
            None => Incarnation { vault: random_bytes(random)?, number: 0 },
        };
        for name in ["snapshot", "snapshot.new"] {
            not_missing(fs::remove_file(dir.join(name)))?;
        }
        // Synchronises the directory as well: from here on no snapshot comes back.
        write_state(dir, &incarnation, None)?;
        Ok(Self { dir: dir.into(), incarnation, since, _lock: lock })
    }

    /// How long the owner before has been gone, at least.
    pub(crate) fn owned_for(&self) -> Duration {
        self.since.elapsed()
    }

    /// Writes a snapshot, which the next owner may load.
    pub(crate) fn save(
        &self,
        random: &dyn Random,
        write: impl FnOnce(&mut dyn Write, &Incarnation, &SnapshotName) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = random_bytes(random)?;
        let unfinished = self.dir.join("snapshot.new");
        let file = private_file(OpenOptions::new().create_new(true), &unfinished)?;
        let mut out = io::BufWriter::new(file);
        write(&mut out, &self.incarnation, &name)?;
        out.into_inner()?.sync_all()?;
        fs::rename(unfinished, self.dir.join("snapshot"))?;
        write_state(&self.dir, &self.incarnation, Some(&name))
    }
}

fn read_state(dir: &Path) -> io::Result<Option<(Incarnation, Option<SnapshotName>)>> {
    let Some(bytes) = not_missing(fs::read(dir.join("state")))? else { return Ok(None) };
    let bytes: [u8; STATE_LEN] = bytes.try_into().map_err(|_| damaged())?;
    let (vault, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let (number, name) = rest.split_first_chunk().ok_or_else(damaged)?;
    let incarnation = Incarnation { vault: *vault, number: u64::from_be_bytes(*number) };
    let name: SnapshotName = name.try_into().map_err(|_| damaged())?;
    Ok(Some((incarnation, Some(name).filter(|name| *name != NO_SNAPSHOT))))
}

const NO_SNAPSHOT: SnapshotName = [0; 16];

fn write_state(
    dir: &Path,
    incarnation: &Incarnation,
    snapshot: Option<&SnapshotName>,
) -> io::Result<()> {
    let number = incarnation.number.to_be_bytes();
    let bytes = [&incarnation.vault, &number[..], snapshot.unwrap_or(&NO_SNAPSHOT)].concat();
    let new = dir.join("state.new");
    let mut file = private_file(OpenOptions::new().create(true).truncate(true), &new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(new, dir.join("state"))?;
    File::open(dir)?.sync_all()
}

fn private_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.write(true).mode(0o600).open(path)
}

fn not_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn random_bytes(random: &dyn Random) -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes).map_err(|_| io::Error::other("no random bytes"))?;
    Ok(bytes)
}

/// Without its state nobody knows which lives there were. The operator who removes the directory makes
/// a new vault of it.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the vault's state file is damaged")
}
