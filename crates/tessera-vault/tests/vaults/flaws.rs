//! Tests the contract itself: vaults with one flaw each break it, and a vault without flaws keeps it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, OneTimeSecret, PutRefused, PutSecret, TakeAnswer, TakePurpose,
    TakeSecret, Vault,
};
use tessera_vault::contract;

/// The flaw of a vault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flaw {
    None,
    /// Looks up, and deletes later.
    TwoSteps,
    /// Keeps what it returns, for the next process.
    KeepsCopies,
    /// Returns expired secrets.
    Immortal,
    /// Accepts an id that was in use.
    TakesAgain,
    /// Reports `burned` for a used secret.
    BurnsTheUsed,
    /// Reports `unknown` for a burned secret.
    Forgets,
    /// Counts secrets that are gone.
    CountsTombstones,
    /// Has no limits.
    Boundless,
    /// Has no room for other clients once those without a name have filled it.
    FirstComeFirstServed,
    /// Evicts the oldest secret, regardless of which client puts the new one.
    EvictsTheOldest,
    /// Continues with what a backup restores.
    BelievesItsBackup,
}

#[derive(Clone)]
struct FlawedVault {
    flaw: Flaw,
    entries: Arc<Mutex<HashMap<FlightHandle, Entry>>>,
}

#[derive(Clone)]
struct Entry {
    encoded: Vec<u8>,
    expires_at: Duration,
    client: Option<Vec<u8>>,
    fate: Option<Absence>,
    put: u32,
}

const CAPACITY: usize = 100;
const PER_CLIENT: usize = 5;

impl FlawedVault {
    fn new(flaw: Flaw) -> Self {
        Self { flaw, entries: Arc::default() }
    }

    fn with<T>(&self, job: impl FnOnce(&mut HashMap<FlightHandle, Entry>) -> T) -> T {
        job(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the same store after a restart.
    fn again(&self) -> Self {
        if self.flaw == Flaw::KeepsCopies {
            self.with(|entries| entries.values_mut().for_each(|entry| entry.fate = None));
        }
        self.clone()
    }

    fn save(&self, backup: &Mutex<HashMap<FlightHandle, Entry>>) {
        let copy = self.with(|entries| entries.clone());
        *backup.lock().unwrap_or_else(PoisonError::into_inner) = copy;
    }

    /// Restores the backup; a vault without the flaw detects that it is not what it left.
    fn roll_back(&self, backup: &Mutex<HashMap<FlightHandle, Entry>>) {
        let copy = backup.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let believes = self.flaw == Flaw::BelievesItsBackup;
        self.with(|entries| *entries = if believes { copy } else { HashMap::new() });
    }

    fn delete(&self, handle: &FlightHandle, fate: Absence) {
        self.with(|entries| {
            if let Some(entry) = entries.get_mut(handle) {
                entry.fate = Some(fate);
            }
        });
    }
}

impl Vault for FlawedVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.with(|entries| {
            let live = |entry: &&Entry| entry.fate.is_none();
            let count = entries.values().filter(live).count();
            let of_client = entries
                .values()
                .filter(live)
                .filter(|entry| put.client.is_some() && entry.client.as_deref() == put.client);
            let nameless = put.client.is_none() && self.flaw != Flaw::FirstComeFirstServed;
            let room = if nameless { CAPACITY - CAPACITY / 4 } else { CAPACITY };
            let of_client = of_client.count();
            let full = count >= room || of_client >= PER_CLIENT;
            let known = entries.contains_key(&put.handle) && self.flaw != Flaw::TakesAgain;
            if full && self.flaw == Flaw::EvictsTheOldest && !known && of_client < PER_CLIENT {
                let live = entries.iter().filter(|(_, entry)| entry.fate.is_none());
                let oldest = live.min_by_key(|(_, entry)| entry.put).map(|(handle, _)| *handle);
                oldest.map(|handle| entries.remove(&handle));
            } else if known || (full && self.flaw != Flaw::Boundless) {
                return Err(PutRefused);
            }
            let encoded = put.secret.encode().to_vec();
            let client = put.client.map(<[u8]>::to_vec);
            let number = entries.values().map(|entry| entry.put + 1).max().unwrap_or(0);
            let entry =
                Entry { encoded, expires_at: put.expires_at, client, fate: None, put: number };
            entries.insert(put.handle, entry);
            Ok(())
        })
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        let fate = match question.purpose {
            TakePurpose::Accept => Absence::Used,
            TakePurpose::Burn => Absence::Burned,
        };
        let found = self.with(|entries| {
            let Some(entry) = entries.get_mut(&question.handle) else {
                return Err(Absence::Unknown);
            };
            if let Some(fate) = entry.fate {
                return Err(match self.flaw {
                    Flaw::BurnsTheUsed => Absence::Burned,
                    Flaw::Forgets => Absence::Unknown,
                    _ => fate,
                });
            }
            let expired = question.unix.is_some_and(|unix| entry.expires_at <= unix);
            if expired && self.flaw != Flaw::Immortal {
                entries.remove(&question.handle);
                return Err(Absence::Unknown);
            }
            if self.flaw != Flaw::TwoSteps {
                entry.fate = Some(fate);
            }
            Ok(OneTimeSecret::decode(&entry.encoded).expect("as encoded"))
        });
        if self.flaw == Flaw::TwoSteps && found.is_ok() {
            thread::sleep(Duration::from_millis(20));
            self.delete(&question.handle, fate);
        }
        Reply::Now(found.map_or_else(TakeAnswer::Absent, TakeAnswer::Taken))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.with(|entries| {
            if let Some(entry) = entries.get_mut(handle).filter(|entry| entry.fate.is_none()) {
                entry.fate = Some(Absence::Burned);
            }
        });
    }

    fn len(&self) -> usize {
        let all = self.flaw == Flaw::CountsTombstones;
        self.with(|entries| entries.values().filter(|entry| all || entry.fate.is_none()).count())
    }
}

/// Whether a vault with this flaw keeps the whole contract.
fn keeps_it(flaw: Flaw) -> bool {
    let check = || {
        contract::vault(|| FlawedVault::new(flaw));
        let store = FlawedVault::new(flaw);
        contract::restart(|| store.again(), drop);
        let store = FlawedVault::new(flaw);
        let backup = Mutex::default();
        contract::rolled_back(
            || store.again(),
            drop,
            || store.save(&backup),
            || store.roll_back(&backup),
        );
        contract::capacity_is_a_bound(&FlawedVault::new(flaw), CAPACITY);
        contract::clients_have_a_limit_each(&FlawedVault::new(flaw), PER_CLIENT);
        contract::the_nameless_leave_room(&FlawedVault::new(flaw), CAPACITY);
        contract::who_holds_less_keeps_it(&FlawedVault::new(flaw), CAPACITY);
    };
    catch_unwind(AssertUnwindSafe(check)).is_ok()
}

#[test]
fn the_contract_of_vaults_finds_every_flaw() {
    assert!(keeps_it(Flaw::None));
    for flaw in [
        Flaw::TwoSteps,
        Flaw::KeepsCopies,
        Flaw::Immortal,
        Flaw::TakesAgain,
        Flaw::BurnsTheUsed,
        Flaw::Forgets,
        Flaw::CountsTombstones,
        Flaw::Boundless,
        Flaw::FirstComeFirstServed,
        Flaw::EvictsTheOldest,
        Flaw::BelievesItsBackup,
    ] {
        assert!(!keeps_it(flaw), "the contract doesn't see {flaw:?}");
    }
}
