//! The directory of a memory vault: who owns it, which life this is, and the snapshot between two.
//!
//! - `lock` is locked as long as the owner lives: old and new owner never overlap.
//! - `state` names the vault, its incarnation, the one snapshot that may be loaded, and, where there is a
//!   witness, the mark that the witness has to know.
//! - `snapshot` is there between a clean shutdown and the next start, and at no other time.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::Random;
use tessera::resume::Incarnation;

use crate::directory::OwnedDirectory;
use crate::memory::seal::{Seal, random_bytes};
use crate::memory::witness::{Mark, Witness};

/// A directory that this process owns.
pub(crate) struct Home {
    dir: Arc<OwnedDirectory>,
    pub(crate) incarnation: Incarnation,
    seal: Option<Seal>,
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
    /// Reads the snapshot, if there is one to be read. Its file is gone for good before this returns.
    /// `load` reports whether what it read is sound: then the incarnation goes on, otherwise a new one
    /// begins. If it fails, everything is left as it was. If `witness` knows the directory otherwise, a
    /// new vault begins.
    pub(crate) fn open(
        dir: Arc<OwnedDirectory>,
        random: &dyn Random,
        witness: Option<Arc<dyn Witness>>,
        load: impl FnOnce(&mut dyn Read, &Incarnation, &SnapshotName) -> io::Result<bool>,
    ) -> io::Result<(Self, Kept)> {
        let (state, seal, kept) = confirmed(read_state(&dir)?, witness.as_ref(), random)?;
        let mut goes_on = false;
        if let Some(State { incarnation, snapshot: Some(name), .. }) = &state
            && let Some(mut file) = dir.open("snapshot")?
        {
            goes_on = load(&mut file, incarnation, name)?;
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
            dir.remove(name)?;
        }
        // Synchronises the directory as well: from here on no snapshot comes back.
        let mark = seal.as_ref().map(|seal| seal.mark);
        write_state(&dir, &State { incarnation, snapshot: None, mark })?;
        Ok((Self { dir, incarnation, seal }, kept))
    }

    /// How long the owner before has been gone, at least.
    pub(crate) fn owned_for(&self) -> Duration {
        self.dir.since.elapsed()
    }

    /// Writes a snapshot, which the next owner may load.
    pub(crate) fn save(
        &self,
        random: &dyn Random,
        write: impl FnOnce(&mut dyn Write, &Incarnation, &SnapshotName) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = random_bytes(random)?;
        let mut out = io::BufWriter::new(self.dir.create("snapshot.new")?);
        write(&mut out, &self.incarnation, &name)?;
        out.into_inner()?.sync_all()?;
        self.dir.rename("snapshot.new", "snapshot")?;
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

/// Which life of which vault a directory is left in, if there was one.
pub(crate) fn incarnation_in(dir: &OwnedDirectory) -> io::Result<Option<Incarnation>> {
    Ok(read_state(dir)?.map(|state| state.incarnation))
}

fn read_state(dir: &OwnedDirectory) -> io::Result<Option<State>> {
    let Some(bytes) = dir.read("state")? else { return Ok(None) };
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

fn write_state(dir: &OwnedDirectory, state: &State) -> io::Result<()> {
    let State { incarnation: Incarnation { vault, number }, snapshot, mark } = state;
    let snapshot = snapshot.as_ref().unwrap_or(&NO_SNAPSHOT);
    let mark = mark.as_ref().map_or(&[][..], |mark| &mark.0);
    dir.replace("state", &[&vault[..], &number.to_be_bytes(), snapshot, mark].concat())
}

/// Without its state nobody knows which lives there were. The operator who removes the directory makes
/// a new vault of it.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the vault's state file is damaged")
}
