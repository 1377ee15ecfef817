//! The vault of one life of the server, with its failures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};
use tessera_vault::MemoryVault;

use crate::network::below;
use crate::tally::{IncrementEvent, Tally};

/// In memory, and gone with its server. Sometimes a question to it, or its answer, is lost. It distinguishes its lives
/// like `MemoryVault::open`, by the clock of the world.
pub struct MortalVault {
    secrets: MemoryVault,
    life: Incarnation,
    /// When this life began, and the previous one was over, since the Unix epoch.
    began: Duration,
    rng: Mutex<Xoshiro256PlusPlus>,
    /// The probability, in 1,000ths, that a question is lost, and the same for an answer.
    faults: AtomicU64,
    tally: Arc<Tally>,
}

impl MortalVault {
    /// Returns the vault of the life of this number.
    pub fn new(
        number: u64,
        began: Duration,
        faults: u64,
        rng: Xoshiro256PlusPlus,
        tally: Arc<Tally>,
    ) -> Self {
        let life = Incarnation { vault: [1; 16], number };
        let (secrets, rng) = (MemoryVault::new(1000), Mutex::new(rng));
        Self { secrets, life, began, rng, faults: AtomicU64::new(faults), tally }
    }

    /// Lets it always answer from now on.
    pub fn calm_down(&self) {
        self.faults.store(0, Ordering::Relaxed);
    }

    fn fails(&self) -> bool {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        let fails = below(&mut rng, 1000) < self.faults.load(Ordering::Relaxed);
        if fails {
            self.tally.count(IncrementEvent::VaultDidNotAnswer);
        }
        fails
    }
}

impl Vault for MortalVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.secrets.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        if self.fails() {
            return Reply::Now(TakeAnswer::Unavailable);
        }
        let answer = self.secrets.take(question);
        if self.fails() {
            return Reply::Now(TakeAnswer::Unavailable);
        }
        let of_earlier_life = question.incarnation.is_some_and(|life| life.is_before(&self.life));
        match (answer, question.unix) {
            (Reply::Now(TakeAnswer::Absent(Absence::Unknown)), Some(now)) if of_earlier_life => {
                self.tally.count(IncrementEvent::VaultWasLost);
                let ended_before = now.saturating_sub(self.began);
                Reply::Now(TakeAnswer::Absent(Absence::Lost { ended_before }))
            }
            (answer, _) => answer,
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.secrets.burn(handle);
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(self.life)
    }

    fn len(&self) -> usize {
        self.secrets.len()
    }
}
