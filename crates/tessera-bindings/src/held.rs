//! What is sure of a lease.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_store::Revision;

/// Whether the others surely hold a proxy for live.
pub(crate) struct HeldLease {
    state: Mutex<State>,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
}

struct State {
    held: Option<Held>,
    /// How often the lease was given up: an answer of the store to what was asked before means nothing.
    losses: u64,
    /// The proxy has left.
    is_closed: bool,
    /// When the process was last seen to run.
    beat: Duration,
}

#[derive(Clone, Copy)]
struct Held {
    /// With the commit of this revision it began. Before, others may have taken over this proxy's clients.
    begun: Revision,
    /// Until then no other proxy takes over this one's clients.
    until: Duration,
}

/// Something that the store is asked.
#[derive(Clone, Copy)]
pub(crate) struct Question {
    asked: Duration,
    losses: u64,
}

impl HeldLease {
    /// How long the process may stand still. After a longer pause its bindings may be old without a sign of it: a client may
    /// have moved on.
    pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(2);

    /// The clock goes on while the process stands still.
    pub(crate) fn new(clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        let state = State { held: None, losses: 0, is_closed: false, beat: clock() };
        Self { state: Mutex::new(state), clock: Box::new(clock) }
    }

    /// Whether it is held now.
    pub(crate) fn is_held(&self) -> bool {
        self.begun().is_some()
    }

    /// Returns the revision with which it began, if it is held now.
    pub(crate) fn begun(&self) -> Option<Revision> {
        let state = self.state();
        // After the lock, for which it may have waited.
        let now = (self.clock)();
        let is_awake = now.saturating_sub(state.beat) < Self::LONGEST_PAUSE;
        state.held.filter(|held| is_awake && now < held.until).map(|held| held.begun)
    }

    /// Notes that the process runs. False: it stood still meanwhile, and the lease must begin again.
    pub(crate) fn beat(&self) -> bool {
        let mut state = self.state();
        let now = (self.clock)();
        let is_awake = now.saturating_sub(state.beat) < Self::LONGEST_PAUSE;
        if !is_awake {
            state.lose();
        }
        state.beat = now;
        is_awake
    }

    /// Begins to ask the store.
    pub(crate) fn ask(&self) -> Question {
        let losses = self.state().losses;
        Question { asked: (self.clock)(), losses }
    }

    /// The store has granted it.
    pub(crate) fn begin(&self, answered: Question, begun: Revision, lifetime: Duration) {
        let mut state = self.state();
        if !state.is_closed && state.losses == answered.losses {
            state.held = Some(Held { begun, until: answered.until(lifetime) });
        }
    }

    /// The store has renewed it.
    pub(crate) fn renew(&self, answered: Question, lifetime: Duration) {
        let mut state = self.state();
        if state.losses == answered.losses
            && let Some(held) = &mut state.held
        {
            held.until = answered.until(lifetime);
        }
    }

    /// Others may take over already.
    pub(crate) fn lose(&self) {
        self.state().lose();
    }

    /// The proxy leaves.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.lose();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lose(&mut self) {
        self.held = None;
        self.losses += 1;
    }
}

impl Question {
    /// The store counts from when it was asked, or later.
    fn until(self, lifetime: Duration) -> Duration {
        self.asked.saturating_add(lifetime)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const LIFETIME: Duration = Duration::from_secs(5);

    /// A lease that is held, and what lets time pass.
    fn held() -> (HeldLease, impl Fn(u64)) {
        let now = Arc::new(AtomicU64::new(1000));
        let clock = now.clone();
        let lease = HeldLease::new(move || Duration::from_millis(clock.load(Ordering::Relaxed)));
        lease.begin(lease.ask(), Revision(7), LIFETIME);
        assert!(lease.is_held());
        let pass = move |millis| {
            now.fetch_add(millis, Ordering::Relaxed);
        };
        (lease, pass)
    }

    #[test]
    fn a_process_that_stood_still_holds_nothing_until_it_has_joined_again() {
        let (lease, pass) = held();
        pass(1999);
        assert!(lease.is_held() && lease.beat());
        let asked = lease.ask();
        pass(2000);
        assert!(!lease.is_held(), "a thread may go on before it is noticed");
        assert!(!lease.beat());
        assert!(!lease.is_held() && lease.beat());
        // Answers to what was asked before.
        lease.renew(asked, LIFETIME);
        lease.begin(asked, Revision(8), LIFETIME);
        assert!(!lease.is_held());
        lease.begin(lease.ask(), Revision(9), LIFETIME);
        assert_eq!(lease.begun(), Some(Revision(9)));
    }

    #[test]
    fn it_ends_a_lifetime_after_the_store_was_asked() {
        let (lease, pass) = held();
        let passes = |millis| {
            pass(millis);
            lease.beat();
        };
        (0..2).for_each(|_| passes(1500));
        let asked = lease.ask();
        passes(1500);
        lease.renew(asked, LIFETIME);
        (0..2).for_each(|_| passes(1500));
        passes(499);
        assert!(lease.is_held());
        passes(1);
        assert!(!lease.is_held());
    }

    #[test]
    fn an_answer_that_comes_after_the_proxy_left_changes_nothing() {
        let (lease, _) = held();
        let asked = lease.ask();
        lease.close();
        lease.renew(asked, LIFETIME);
        lease.begin(asked, Revision(8), LIFETIME);
        lease.begin(lease.ask(), Revision(9), LIFETIME);
        assert!(!lease.is_held());
    }
}
