//! The accounts of one end: which component allocated how much, and what it holds.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tessera_observed::{Observer, Operation};

use crate::heap::{self, Arena};

/// The owner of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    Certificates,
    KeyExchange,
    Signature,
    TicketsAndReplayState,
    Buffers,
    Rest,
    /// The server's stores, whose memory is no connection's.
    Stores,
    /// The measurement itself.
    Outside,
}

impl Account {
    const ALL: [Self; 8] = [
        Self::Certificates,
        Self::KeyExchange,
        Self::Signature,
        Self::TicketsAndReplayState,
        Self::Buffers,
        Self::Rest,
        Self::Stores,
        Self::Outside,
    ];

    /// Returns the account of an operation; `None` for one that belongs to its caller.
    fn of(operation: Operation) -> Option<Self> {
        match operation {
            Operation::KeyGeneration
            | Operation::Encapsulation
            | Operation::Decapsulation
            | Operation::OneTimeKeyGeneration
            | Operation::OneTimeKeyReading
            | Operation::OneTimeKeyOpening => Some(Self::KeyExchange),
            Operation::Signature => Some(Self::Signature),
            Operation::Verification | Operation::ProofVerification => Some(Self::Certificates),
            Operation::TicketSealing | Operation::TicketOpening => {
                Some(Self::TicketsAndReplayState)
            }
            Operation::VaultPut | Operation::VaultTake | Operation::Register => Some(Self::Stores),
            Operation::KeyDerivation
            | Operation::Hash
            | Operation::RecordKey
            | Operation::Seal
            | Operation::Open
            | Operation::HeaderMask
            | Operation::Random => None,
        }
    }
}

/// Bytes of a connection, by the component that allocated them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Components {
    /// The verification of the peer: its chain, its name, its signature.
    pub(crate) certificates: i64,
    /// Ephemeral and one-time keys, and the secrets agreed with them.
    pub(crate) key_exchange: i64,
    /// This side's CertificateVerify.
    pub(crate) signature: i64,
    /// Tickets sealed and opened, sessions, one-time secrets taken from the vault.
    pub(crate) tickets_and_replay_state: i64,
    /// Bytes received and not read yet, and bytes to be sent.
    pub(crate) buffers: i64,
    /// The engine: its state, messages, transcript, key schedule, and keys of records.
    pub(crate) rest: i64,
}

impl Components {
    /// Returns their sum.
    pub(crate) fn total(&self) -> i64 {
        let Self { certificates, key_exchange, signature, .. } = self;
        let Self { tickets_and_replay_state, buffers, rest, .. } = self;
        certificates + key_exchange + signature + tickets_and_replay_state + buffers + rest
    }

    fn of(accounts: Accounts) -> Self {
        let [certificates, key_exchange, signature, tickets_and_replay_state, buffers, rest, _, _] =
            accounts;
        Self { certificates, key_exchange, signature, tickets_and_replay_state, buffers, rest }
    }
}

/// One number for each of [`Account::ALL`].
type Accounts = [i64; Account::ALL.len()];

/// The accounts of one end, for one thread at a time.
pub(super) struct Books {
    arenas: [Arena; Account::ALL.len()],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    present: Option<Account>,
    /// Whether to record the peak.
    watched: bool,
    /// The thread's allocations when the present account became current.
    allocated_before: u64,
    allocated: Accounts,
    /// What the arenas held when the connection began.
    baseline: Accounts,
    /// The peak of the connection.
    peak: Accounts,
    /// What this end's accounts allocated and did not free, by the thread's own counters.
    held_by_thread: i64,
    held_before: i64,
    /// The same without the stores' account: an upper bound, since a store may have freed what a connection allocated.
    /// Reading the arenas is slow.
    at_most: i64,
    failed: Option<io::Error>,
}

/// The accounts of a connection. All but `stores` exclude the stores.
#[derive(Clone, Copy)]
pub(super) struct Balance {
    pub(super) allocated: Components,
    pub(super) peak: Components,
    pub(super) held: Components,
    /// The growth of the stores.
    pub(super) stores: i64,
    /// What the connection holds, including the stores, by the allocator's counters of the thread.
    pub(super) held_by_thread: i64,
}

impl Books {
    /// Creates empty accounts, with separate arenas.
    pub(super) fn open() -> io::Result<Self> {
        let mut arenas = Vec::new();
        for _ in Account::ALL {
            arenas.push(Arena::create()?);
        }
        let arenas = arenas.try_into().map_err(|_| io::Error::other("one arena an account"))?;
        Ok(Self { arenas, state: Mutex::default() })
    }

    /// Starts a connection: present memory doesn't count. The calling thread's allocations then belong to no account of
    /// it. The peak is recorded if `watched`, which is slow.
    pub(super) fn begin(&self, watched: bool) -> io::Result<()> {
        self.arenas[Account::Outside as usize].enter()?;
        let baseline = self.held()?;
        *self.state() = State { baseline, watched, ..State::default() };
        Ok(())
    }

    /// Runs a closure on behalf of an account.
    pub(super) fn within<R>(&self, account: Account, work: impl FnOnce() -> R) -> R {
        let before = self.switch(account);
        let result = work();
        self.back(before);
        result
    }

    /// Returns the allocations so far, and the present memory.
    pub(super) fn balance(&self) -> io::Result<Balance> {
        let held = self.held()?;
        let mut state = self.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        let held = difference(held, state.baseline);
        Ok(Balance {
            allocated: Components::of(state.allocated),
            peak: Components::of(state.peak),
            held: Components::of(held),
            stores: held[Account::Stores as usize],
            held_by_thread: state.held_by_thread,
        })
    }

    /// Switches the thread to `account`; returns the previous one.
    fn switch(&self, account: Account) -> Account {
        let mut state = self.state();
        let before = state.present.unwrap_or(Account::Outside);
        let result = self.turn(&mut state, before, account);
        state.note(result);
        before
    }

    /// Records the present memory, and returns to the account `before`.
    fn back(&self, before: Account) {
        let mut state = self.state();
        let present = state.present.unwrap_or(Account::Outside);
        let result = self.turn(&mut state, present, before).and_then(|()| self.look(&mut state));
        state.note(result);
    }

    /// Records the present memory if it may be a new peak.
    fn look(&self, state: &mut State) -> io::Result<()> {
        if !state.watched || state.at_most <= Components::of(state.peak).total() {
            return Ok(());
        }
        let held = difference(self.held()?, state.baseline);
        if Components::of(held).total() > Components::of(state.peak).total() {
            state.peak = held;
        }
        Ok(())
    }

    fn turn(&self, state: &mut State, from: Account, to: Account) -> io::Result<()> {
        let (allocated, held) = (heap::allocated_by_thread()?, heap::held_by_thread()?);
        if from != Account::Outside {
            state.allocated[from as usize] += (allocated - state.allocated_before) as i64;
            state.held_by_thread += held - state.held_before;
        }
        if !matches!(from, Account::Outside | Account::Stores) {
            state.at_most += held - state.held_before;
        }
        (state.allocated_before, state.held_before) = (allocated, held);
        state.present = Some(to);
        self.arenas[to as usize].enter()
    }

    fn held(&self) -> io::Result<Accounts> {
        heap::refresh()?;
        let mut held = Accounts::default();
        for (held, arena) in held.iter_mut().zip(&self.arenas) {
            *held = arena.held()?;
        }
        Ok(held)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

impl Observer for Books {
    /// They allocate little, and an observed one would allocate more.
    const SUITES: bool = false;
    type Begun = Option<Account>;

    fn begin(&self, operation: Operation) -> Option<Account> {
        Account::of(operation).map(|account| self.switch(account))
    }

    fn end(&self, _: Operation, begun: Option<Account>) {
        if let Some(before) = begun {
            self.back(before);
        }
    }
}

fn difference(mut now: Accounts, before: Accounts) -> Accounts {
    for (now, before) in now.iter_mut().zip(before) {
        *now -= before;
    }
    now
}
