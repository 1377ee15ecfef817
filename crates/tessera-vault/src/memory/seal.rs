//! What a witness knows about the life of a directory.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tessera::crypto::Random;

use crate::memory::witness::{Mark, Witness, WitnessOutcome};

/// The mark that witness and directory share while the owner lives.
pub(crate) struct Seal {
    witness: Arc<dyn Witness>,
    pub(crate) mark: Mark,
    hold: Mutex<Option<Box<dyn Send + Sync>>>,
}

impl Seal {
    /// Asks the witness to replace the mark of a vault; `None` if it knows another one.
    pub(crate) fn replace(
        witness: &Arc<dyn Witness>,
        vault: &[u8; 16],
        expected: Option<&Mark>,
        random: &dyn Random,
    ) -> io::Result<Option<Self>> {
        let mark = Mark(random_bytes(random)?);
        Ok(match witness.replace(vault, expected, &mark)? {
            WitnessOutcome::Replaced { hold } => {
                Some(Self { witness: witness.clone(), mark, hold: Mutex::new(hold) })
            }
            WitnessOutcome::Differs => None,
        })
    }

    /// Whether no other process can have replaced the mark while its owner lived.
    pub(crate) fn tells_the_living(&self) -> bool {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns the mark under which the directory is left.
    pub(crate) fn close(&self, vault: &[u8; 16], random: &dyn Random) -> io::Result<Mark> {
        // Otherwise the witness would find the mark held.
        drop(self.hold.lock().unwrap_or_else(PoisonError::into_inner).take());
        let left = Self::replace(&self.witness, vault, Some(&self.mark), random)?;
        left.map(|seal| seal.mark).ok_or_else(|| {
            io::Error::other("another owner has used a copy of the vault's directory meanwhile")
        })
    }
}

pub(crate) fn random_bytes(random: &dyn Random) -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes).map_err(|_| io::Error::other("no random bytes"))?;
    Ok(bytes)
}
