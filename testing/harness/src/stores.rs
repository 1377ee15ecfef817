//! The simplest stores that work: nothing sealed, nothing bounded. For tests only.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::crypto::{KeyForm, Provider};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, AlreadyUsed, FlightHandle, OneTimeSecret, OpenTicket, PutRefused, PutSecret, Receipt,
    Receipts, SessionState, SettleReceipt, SingleUseRegister, TakeAnswer, TakePurpose, TakeSecret,
    TicketKeys, Vault,
};
use tessera::wire::TICKET_ID_LEN;

/// Tickets that anyone can read and make.
pub struct UnsealedTickets;

impl TicketKeys for UnsealedTickets {
    fn seal(&self, session: &SessionState, _: Duration) -> Option<Vec<u8>> {
        Some(session.encode().to_vec())
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        Reply::Now(SessionState::decode(&question.identity))
    }
}

/// A vault without limits.
#[derive(Default)]
pub struct OneVault {
    secrets: Mutex<HashMap<FlightHandle, OneTimeSecret>>,
    gone: Mutex<HashMap<FlightHandle, Absence>>,
    form: KeyForm,
}

impl OneVault {
    /// Creates a vault that wants keys in this form.
    pub fn of(form: KeyForm) -> Self {
        Self { form, ..Self::default() }
    }
}

impl Vault for OneVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(put.handle, put.secret);
        Ok(())
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        Reply::Now(match secrets.remove(&question.handle) {
            Some(secret) => {
                let absent = match question.purpose {
                    TakePurpose::Accept => Absence::Used,
                    TakePurpose::Burn => Absence::Burned,
                };
                gone.insert(question.handle, absent);
                TakeAnswer::Taken(secret)
            }
            None => {
                TakeAnswer::Absent(gone.get(&question.handle).copied().unwrap_or(Absence::Unknown))
            }
        })
    }

    fn burn(&self, handle: &FlightHandle) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secrets.remove(handle).is_some() {
            let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            gone.insert(*handle, Absence::Burned);
        }
    }

    fn key_form(&self) -> KeyForm {
        self.form
    }

    fn len(&self) -> usize {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A record of what was done, and the vault that knows what was taken.
pub struct Journal {
    vault: Arc<OneVault>,
    done: Mutex<HashSet<FlightHandle>>,
}

impl Journal {
    /// Nothing is done.
    pub fn new(vault: Arc<OneVault>) -> Self {
        Self { vault, done: Mutex::default() }
    }

    /// Records that the flight took effect.
    pub fn mark_done(&self, flight: FlightHandle) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(flight);
    }
}

impl Receipts for Journal {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        let handle = question.handle;
        let question = TakeSecret::new(handle, TakePurpose::Burn, question.unix);
        let Reply::Now(taken) = self.vault.take(&question) else { return Reply::Later };
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        Reply::Now(Receipt::of(&taken, done.contains(&handle)))
    }
}

/// A register that forgets nothing: for a test's lifetime that is right.
#[derive(Default)]
pub struct OneRegister(Mutex<HashSet<[u8; TICKET_ID_LEN]>>);

impl SingleUseRegister for OneRegister {
    fn claim(
        &self,
        key: &[u8; TICKET_ID_LEN],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(*key).then_some(()).ok_or(AlreadyUsed)
    }
}

/// A ring of ticket keys that rotates: it encrypts nothing, but a ticket that was changed or sealed under another key
/// does not open.
pub struct Ring {
    provider: Provider,
    keys: Mutex<VecDeque<u64>>,
}

impl Ring {
    /// Creates a ring with one key of this number.
    pub fn new(provider: Provider, key: u64) -> Self {
        Self { provider, keys: Mutex::new([key].into()) }
    }

    /// Seals under a new key; the newest three still open.
    pub fn rotate(&self, key: u64) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.push_front(key);
        keys.truncate(3);
    }

    fn tag(&self, key: u64, body: &[u8]) -> Vec<u8> {
        let tag = self.provider.suites[0].hash.hmac(&key.to_be_bytes(), body);
        tag.as_ref().to_vec()
    }
}

impl TicketKeys for Ring {
    fn seal(&self, session: &SessionState, _: Duration) -> Option<Vec<u8>> {
        let key = *self.keys.lock().unwrap_or_else(PoisonError::into_inner).front()?;
        let body = session.encode().to_vec();
        Some([self.tag(key, &body), body].concat())
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parts = question.identity.split_at_checked(32);
        Reply::Now(parts.and_then(|(tag, body)| {
            keys.iter().find(|key| self.tag(**key, body) == tag)?;
            SessionState::decode(body)
        }))
    }
}
