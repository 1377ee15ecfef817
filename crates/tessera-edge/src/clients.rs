//! The clients that this proxy has seen: what names them, their open connections, and their requests in progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tessera_bindings::{ClientName, Generation};
use tessera_tokio::Origin;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, watch};
use tokio::time::Instant;

use crate::places::Place;

/// The clients that were here, until they have been away for long. By the time that has passed: if the clock is set, no client
/// has been away.
pub(crate) struct Clients {
    all: Mutex<HashMap<ClientName, Arc<Client>>>,
    began: Instant,
}

/// One client.
pub(crate) struct Client {
    pub(crate) name: ClientName,
    /// What its certificate names, which is also what its one-time keys are kept by.
    pub(crate) identity: OnceLock<Vec<u8>>,
    /// When it was last here, in milliseconds since the beginning.
    seen: AtomicU64,
    /// Requests that this proxy executes.
    in_progress: AtomicUsize,
    /// Notified when the last one has ended.
    is_quiet: Notify,
    /// The generation in which this proxy has handed the client over: it executes no more of its requests in that one.
    handed_over: AtomicU64,
    /// Counts how often its connections were asked to end.
    leaving: watch::Sender<u64>,
    /// Whether this proxy is becoming its owner, and may lack what the earlier owner changed last.
    is_arriving: AtomicBool,
    /// The latest generation in which this process lacks no change of an earlier owner.
    complete_in: AtomicU64,
    /// Held while it arrives.
    arrival: Arc<AsyncMutex<()>>,
    /// Whether it has had a binding.
    is_bound: AtomicBool,
    /// That of the address from which it was bound, if that counts.
    place: OnceLock<Place<Origin>>,
}

/// A client whose owner this proxy becomes.
pub(crate) struct Arrival {
    client: Arc<Client>,
    _turn: OwnedMutexGuard<()>,
}

/// How long a client without a binding is known: names are free, since each request without a cookie gets one.
const UNBOUND: Duration = Duration::from_secs(2);

/// A request in progress.
pub(crate) struct InProgress {
    client: Arc<Client>,
    generation: Generation,
}

impl Clients {
    pub(crate) fn new(now: Instant) -> Self {
        Self { all: Mutex::default(), began: now }
    }

    /// Returns a client, known from now on.
    pub(crate) fn at(&self, name: &ClientName, now: Instant) -> Arc<Client> {
        let mut clients = self.lock();
        let client = match clients.get(name) {
            Some(client) => client.clone(),
            None => {
                let client = Arc::new(Client::new(name.clone()));
                clients.insert(name.clone(), client.clone());
                client
            }
        };
        client.seen.store(self.millis(now), Ordering::Relaxed);
        client
    }

    /// Notes a client that is bound here, by another process of this proxy or by a request that has ended.
    pub(crate) fn know(&self, name: &ClientName, now: Instant) {
        self.get(name).unwrap_or_else(|| self.at(name, now)).has_binding();
    }

    /// Returns a client that is known.
    pub(crate) fn get(&self, name: &ClientName) -> Option<Arc<Client>> {
        self.lock().get(name).cloned()
    }

    /// Returns the clients that have been away for `idle` at `now`; those that never had a binding earlier.
    pub(crate) fn idle(&self, now: Instant, idle: Duration) -> Vec<ClientName> {
        let now = self.millis(now);
        let clients = self.lock();
        let is_idle = |client: &&Arc<Client>| client.is_idle(now, idle);
        clients.values().filter(is_idle).map(|client| client.name.clone()).collect()
    }

    /// Whether a client is known that has been away for so long.
    pub(crate) fn is_idle(&self, name: &ClientName, now: Instant, idle: Duration) -> bool {
        self.get(name).is_some_and(|client| client.is_idle(self.millis(now), idle))
    }

    /// Forgets a client, unless it has come back.
    pub(crate) fn forget(&self, name: &ClientName, now: Instant, idle: Duration) {
        let now = self.millis(now);
        let mut clients = self.lock();
        if clients.get(name).is_some_and(|client| client.is_idle(now, idle)) {
            clients.remove(name);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientName, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Client {
    fn new(name: ClientName) -> Self {
        Self {
            name,
            identity: OnceLock::new(),
            seen: AtomicU64::new(0),
            in_progress: AtomicUsize::new(0),
            is_quiet: Notify::new(),
            handed_over: AtomicU64::new(0),
            leaving: watch::Sender::new(0),
            is_arriving: AtomicBool::new(false),
            complete_in: AtomicU64::new(0),
            arrival: Arc::default(),
            is_bound: AtomicBool::new(false),
            place: OnceLock::new(),
        }
    }

    /// Whether it has been away for `idle` at `now`, in milliseconds since the beginning.
    fn is_idle(&self, now: u64, idle: Duration) -> bool {
        let idle = if self.is_bound.load(Ordering::Relaxed) { idle } else { idle.min(UNBOUND) };
        let away = now.saturating_sub(self.seen.load(Ordering::Relaxed));
        u128::from(away) > idle.as_millis()
            && self.in_progress.load(Ordering::SeqCst) == 0
            && self.leaving.receiver_count() == 0
    }

    /// Begins its arrival here; waits for one that has begun.
    pub(crate) async fn arrive(self: &Arc<Self>) -> Arrival {
        let turn = self.arrival.clone().lock_owned().await;
        self.is_arriving.store(true, Ordering::SeqCst);
        Arrival { client: self.clone(), _turn: turn }
    }

    /// Notes that it has a binding.
    pub(crate) fn has_binding(&self) {
        self.is_bound.store(true, Ordering::Relaxed);
    }

    /// Whether it counts at an address.
    pub(crate) fn has_place(&self) -> bool {
        self.place.get().is_some()
    }

    /// Counts it at an address, until it is forgotten.
    pub(crate) fn take_place(&self, place: Place<Origin>) {
        // If it has one already, this one is given up.
        let _ = self.place.set(place);
    }

    /// Whether it is arriving.
    pub(crate) fn is_arriving(&self) -> bool {
        self.is_arriving.load(Ordering::SeqCst)
    }

    /// Notes that this process lacks no change of an earlier owner in this generation.
    pub(crate) fn note_complete(&self, generation: Generation) {
        self.complete_in.fetch_max(generation.0, Ordering::SeqCst);
    }

    /// Whether that was noted of this generation, or of a later one.
    pub(crate) fn is_complete_in(&self, generation: Generation) -> bool {
        self.complete_in.load(Ordering::SeqCst) >= generation.0
    }

    /// Waits until it has arrived.
    pub(crate) async fn arrived(&self) {
        drop(self.arrival.lock().await);
    }

    /// Begins to execute a request in this generation; `None` once the client was handed over in it, or in a later one.
    pub(crate) fn begin(self: &Arc<Self>, generation: Generation) -> Option<InProgress> {
        self.in_progress.fetch_add(1, Ordering::SeqCst);
        let request = InProgress { client: self.clone(), generation };
        // Counted first: a hand-over sees this request, or this request sees the hand-over.
        self.is_served_in(generation).then_some(request)
    }

    /// Whether it wasn't handed over in this generation, or in a later one.
    fn is_served_in(&self, generation: Generation) -> bool {
        self.handed_over.load(Ordering::SeqCst) < generation.0
    }

    /// Hands the client over to the next proxy of this generation: returns when no request is in progress any more.
    pub(crate) async fn hand_over(&self, generation: Generation) {
        self.handed_over.fetch_max(generation.0, Ordering::SeqCst);
        loop {
            let is_quiet = self.is_quiet.notified();
            if self.in_progress.load(Ordering::SeqCst) == 0 {
                return;
            }
            is_quiet.await;
        }
    }

    /// Returns a signal that its open connections should end.
    pub(crate) fn leaving(&self) -> watch::Receiver<u64> {
        self.leaving.subscribe()
    }

    /// Asks its open connections to end: it has moved.
    pub(crate) fn leave(&self) {
        self.leaving.send_modify(|count| *count += 1);
    }
}

impl Arrival {
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.client.is_arriving.store(false, Ordering::SeqCst);
    }
}

impl InProgress {
    /// Returns whether the request may still be sent: a hand-over doesn't wait for it forever.
    pub(crate) fn may_be_sent(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (client, generation) = (self.client.clone(), self.generation);
        move || client.is_served_in(generation)
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        if self.client.in_progress.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.client.is_quiet.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn clients() -> (Clients, Arc<Client>) {
        let clients = Clients::new(Instant::now());
        let client = clients.at(&ClientName::new("drone").unwrap(), after(&clients, 100));
        (clients, client)
    }

    /// Returns the time so many seconds after the beginning.
    fn after(clients: &Clients, seconds: u64) -> Instant {
        clients.began + Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn a_client_is_handed_over_when_its_last_request_has_ended() {
        let (_, client) = clients();
        let [first, second] = [(); 2].map(|()| client.begin(Generation(7)).unwrap());
        let mut over = pin!(client.hand_over(Generation(7)));
        assert!(futures_util::poll!(&mut over).is_pending());
        assert!(client.begin(Generation(7)).is_none(), "it is being handed over");
        assert!(client.begin(Generation(8)).is_some(), "it came back");
        drop(first);
        assert!(futures_util::poll!(&mut over).is_pending());
        drop(second);
        assert!(futures_util::poll!(&mut over).is_ready());
    }

    #[test]
    fn only_clients_that_are_away_are_forgotten() {
        let (clients, client) = clients();
        client.has_binding();
        let away = Duration::from_secs(10);
        let idle = |now| clients.idle(after(&clients, now), away);
        assert_eq!(idle(105), []);
        let request = client.begin(Generation(1));
        assert_eq!(idle(200), []);
        drop(request);
        let connection = client.leaving();
        assert_eq!(idle(200), []);
        drop(connection);
        assert_eq!(idle(200), std::slice::from_ref(&client.name));
        // It comes back while another one is released.
        clients.at(&client.name, after(&clients, 195));
        assert!(!clients.is_idle(&client.name, after(&clients, 200), away));
        clients.forget(&client.name, after(&clients, 200), away);
        assert!(clients.get(&client.name).is_some());
        clients.forget(&client.name, after(&clients, 300), away);
        assert!(clients.get(&client.name).is_none());
    }

    #[test]
    fn a_client_that_nothing_binds_is_soon_forgotten() {
        let (clients, client) = clients();
        let bound = ClientName::new("bound").unwrap();
        clients.know(&bound, after(&clients, 100));
        clients.know(&bound, after(&clients, 200));
        let late = clients.at(&ClientName::new("late").unwrap(), after(&clients, 100));
        clients.know(&late.name, after(&clients, 200));
        let idle = |now| clients.idle(after(&clients, now), Duration::from_secs(50));
        assert_eq!(idle(102), []);
        assert_eq!(idle(103), std::slice::from_ref(&client.name));
        clients.forget(&client.name, after(&clients, 103), Duration::from_secs(50));
        assert_eq!(idle(150), []);
        let mut both = idle(151);
        both.sort();
        assert_eq!(both, [bound, late.name.clone()], "neither is unbound");
    }
}
