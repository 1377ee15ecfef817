//! The directory of a memory vault: its owner, its current life, and the snapshot between two lives.
//!
//! - `lock` is locked while the owner lives: old and new owner never overlap.
//! - `state` names the vault, its incarnation, the one snapshot that may be loaded, and, if there is a
//!   witness, the mark that the witness must know.
//! - `moved` names the last life from which secrets left for other vaults, if there was one.
//! - `snapshot` exists only between a clean shutdown and the next start, and so do the `associations` of a
//!   [`ServerState`](crate::ServerState).

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// The last life of this vault from which secrets left.
    departed: Mutex<Option<u64>>,
}

/// How much of a directory's content is valid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentValidity {
    /// It is as it was left, as far as can be known.
    Identity,
    /// It was rolled back or copied: its content is void.
    Nothing,
}

/// Content of the state file.
struct State {
    incarnation: Incarnation,
    snapshot: Option<SnapshotName>,
    /// Present if there is a witness.
    mark: Option<Mark>,
}

/// Names one snapshot: only the last one is ever loaded, and only once.
pub(crate) type SnapshotName = [u8; 16];

/// Length without a mark.
const STATE_LEN: usize = 16 + 8 + 16;

impl Home {
    /// Reads the snapshot, if there is a valid one. Its file is gone for good before this returns. `load`
    /// returns whether the content is sound: if so, the incarnation continues, otherwise a new one begins. If
    /// `load` fails, everything is left unchanged. If `witness` knows the directory with another mark, a new
    /// vault begins.
    pub(crate) fn open(
        dir: Arc<OwnedDirectory>,
        random: &dyn Random,
        witness: Option<Arc<dyn Witness>>,
        load: impl FnOnce(&mut dyn Read, &Incarnation, &SnapshotName) -> io::Result<bool>,
    ) -> io::Result<(Self, ContentValidity)> {
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
        for name in ["snapshot", "snapshot.new", "associations", "associations.new"] {
            dir.remove(name)?;
        }
        // Also synchronises the directory: from here on no snapshot comes back.
        let mark = seal.as_ref().map(|seal| seal.mark);
        write_state(&dir, &State { incarnation, snapshot: None, mark })?;
        let departed = Mutex::new(last_departure(&dir, &incarnation)?);
        Ok((Self { dir, incarnation, seal, departed }, kept))
    }

    /// Returns how long the previous owner has been gone, at least.
    pub(crate) fn owned_for(&self) -> Duration {
        self.dir.since.elapsed()
    }

    /// Notes durably that secrets leave this life.
    pub(crate) fn note_departures(&self) -> io::Result<()> {
        let Incarnation { vault, number } = self.incarnation;
        let mut departed = self.departed();
        if *departed != Some(number) {
            self.dir.replace("moved", &[&vault[..], &number.to_be_bytes()].concat())?;
            *departed = Some(number);
        }
        Ok(())
    }

    /// Whether a secret of an earlier life may be in another vault.
    pub(crate) fn may_have_left(&self, of_secret: &Incarnation) -> bool {
        self.departed().is_some_and(|last| of_secret.number <= last)
    }

    fn departed(&self) -> MutexGuard<'_, Option<u64>> {
        self.departed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a snapshot that the next owner may load.
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

/// Returns what remains of a state after the witness is asked: nothing, if it knows another mark.
fn confirmed(
    state: Option<State>,
    witness: Option<&Arc<dyn Witness>>,
    random: &dyn Random,
) -> io::Result<(Option<State>, Option<Seal>, ContentValidity)> {
    let (Some(witness), Some(State { incarnation, snapshot, mark })) = (witness, &state) else {
        return Ok((state, None, ContentValidity::Identity));
    };
    let Some(seal) = Seal::replace(witness, &incarnation.vault, mark.as_ref(), random)? else {
        return Ok((None, None, ContentValidity::Nothing));
    };
    // It was not closed: its owner crashed, or lives and this is a copy. Without knowing which, it is not the
    // owner's next life, for that would declare the owner's secrets gone.
    if snapshot.is_none() && !seal.tells_the_living() {
        return Ok((None, None, ContentValidity::Identity));
    }
    Ok((state, Some(seal), ContentValidity::Identity))
}

/// Returns the last life of this vault from which secrets left, if one did.
fn last_departure(dir: &OwnedDirectory, own: &Incarnation) -> io::Result<Option<u64>> {
    let Some(bytes) = dir.read("moved")? else { return Ok(None) };
    let (vault, number) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let number = number.try_into().map(u64::from_be_bytes).map_err(|_| damaged())?;
    // Another vault's, whose secrets are unknown here.
    Ok((*vault == own.vault).then_some(number))
}

/// Returns the vault and life that a directory was left in, if there was one.
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

/// Makes the error for a damaged state, without which the earlier lives are unknown. An operator can start
/// a new vault by removing the directory.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the vault's state file is damaged")
}
