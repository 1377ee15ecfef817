//! The directory of a memory vault: who owns it, which life this is, and the snapshot between two.
//!
//! - `lock` is locked as long as the owner lives: old and new owner never overlap.
//! - `state` names the vault, its incarnation, the one snapshot that may be loaded, and, where there is a
//!   witness, the mark that the witness has to know.
//! - `snapshot` is there between a clean shutdown and the next start, and at no other time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::crypto::Random;
use tessera::resume::Incarnation;

use crate::memory::seal::{Seal, random_bytes};
use crate::memory::witness::{Mark, Witness};

/// A directory that this process owns.
pub(crate) struct Home {
    dir: PathBuf,
    pub(crate) incarnation: Incarnation,
    /// When the owner before was known to be gone.
    since: Instant,
    seal: Option<Seal>,
    /// The lock ends with the file.
    _lock: File,
}

/// What a directory is worth that was opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is as it was left, as far as anybody knows.
    Identity,
    /// It was rolled back or copied: what is in it begins anew.
    Nothing,
}

/// What the state file says.
struct State {
    incarnation: Incarnation,
    snapshot: Option<SnapshotName>,
    /// Where there is a witness.
    mark: Option<Mark>,
}

/// Names one snapshot: only the last one is ever loaded, and only once.
pub(crate) type SnapshotName = [u8; 16];

/// Without a mark.
const STATE_LEN: usize = 16 + 8 + 16;

impl Home {
    /// Takes ownership, and reads the snapshot, if there is one to be read. Its file is gone for good
    /// before this returns. `load` reports whether what it read is sound: then the incarnation goes on,
    /// otherwise a new one begins. If `witness` knows the directory otherwise, a new vault begins.
    pub(crate) fn open(
        dir: &Path,
        random: &dyn Random,
        witness: Option<Arc<dyn Witness>>,
        load: impl FnOnce(&mut dyn Read, &Incarnation, &SnapshotName) -> bool,
    ) -> io::Result<(Self, Kept)> {
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
        let (state, seal, kept) = confirmed(read_state(dir)?, witness.as_ref(), random)?;
        let mut goes_on = false;
        if let Some(State { incarnation, snapshot: Some(name), .. }) = &state
            && let Some(mut file) = not_missing(File::open(dir.join("snapshot")))?
        {
            goes_on = load(&mut file, incarnation, name);
        }
        let incarnation = match state {
            Some(State { incarnation, .. }) if goes_on => incarnation,
            Some(State { incarnation: Incarnation { vault, number }, .. }) => {
                Incarnation { vault, number: number.checked_add(1).ok_or_else(damaged)? }
            }
            None => Incarnation { vault: random_bytes(random)?, number: 0 },
        };
        let seal = match (&witness, seal) {
            (Some(witness), None) => {
                let seal = Seal::replace(witness, &incarnation.vault, None, random)?;
                Some(seal.ok_or_else(|| io::Error::other("the witness knows a new vault"))?)
            }
            (_, seal) => seal,
        };
        for name in ["snapshot", "snapshot.new"] {
            not_missing(fs::remove_file(dir.join(name)))?;
        }
        // Synchronises the directory as well: from here on no snapshot comes back.
        let mark = seal.as_ref().map(|seal| seal.mark);
        write_state(dir, &State { incarnation, snapshot: None, mark })?;
        Ok((Self { dir: dir.into(), incarnation, since, seal, _lock: lock }, kept))
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
        let close = |seal: &Seal| seal.close(&self.incarnation.vault, random);
        let mark = self.seal.as_ref().map(close).transpose()?;
        let incarnation = self.incarnation;
        write_state(&self.dir, &State { incarnation, snapshot: Some(name), mark })
    }
}

/// What is left of a state when the witness was asked: nothing, if it knows another one.
fn confirmed(
    state: Option<State>,
    witness: Option<&Arc<dyn Witness>>,
    random: &dyn Random,
) -> io::Result<(Option<State>, Option<Seal>, Kept)> {
    let (Some(witness), Some(State { incarnation, snapshot, mark })) = (witness, &state) else {
        return Ok((state, None, Kept::Identity));
    };
    let Some(seal) = Seal::replace(witness, &incarnation.vault, mark.as_ref(), random)? else {
        return Ok((None, None, Kept::Nothing));
    };
    // Nobody closed it: its owner crashed, or lives, and this is a copy. If nobody can tell, it is no life after
    // the owner's, for that would say that the owner's secrets are gone.
    if snapshot.is_none() && !seal.tells_the_living() {
        return Ok((None, None, Kept::Identity));
    }
    Ok((state, Some(seal), Kept::Identity))
}

fn read_state(dir: &Path) -> io::Result<Option<State>> {
    let Some(bytes) = not_missing(fs::read(dir.join("state")))? else { return Ok(None) };
    let (state, mark) = bytes.split_at_checked(STATE_LEN).ok_or_else(damaged)?;
    let (vault, rest) = state.split_first_chunk().ok_or_else(damaged)?;
    let (number, name) = rest.split_first_chunk().ok_or_else(damaged)?;
    let incarnation = Incarnation { vault: *vault, number: u64::from_be_bytes(*number) };
    let name: SnapshotName = name.try_into().map_err(|_| damaged())?;
    let snapshot = Some(name).filter(|name| *name != NO_SNAPSHOT);
    let mark = match mark {
        [] => None,
        mark => Some(Mark(mark.try_into().map_err(|_| damaged())?)),
    };
    Ok(Some(State { incarnation, snapshot, mark }))
}

const NO_SNAPSHOT: SnapshotName = [0; 16];

fn write_state(dir: &Path, state: &State) -> io::Result<()> {
    let State { incarnation: Incarnation { vault, number }, snapshot, mark } = state;
    let snapshot = snapshot.as_ref().unwrap_or(&NO_SNAPSHOT);
    let mark = mark.as_ref().map_or(&[][..], |mark| &mark.0);
    let bytes = [&vault[..], &number.to_be_bytes(), snapshot, mark].concat();
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

/// Without its state nobody knows which lives there were. The operator who removes the directory makes
/// a new vault of it.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the vault's state file is damaged")
}
