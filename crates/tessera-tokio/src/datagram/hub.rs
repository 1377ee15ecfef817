//! A socket with its associations, and what their users see of them. What is received and sent is in files of their own
//! (`receiving`, `sending`).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use tessera::Time;
use tessera_endpoint::Path;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::associations::{Associations, DatagramHandshake};
use super::binder::Binder;
use super::failures::Failures;
use super::inbox::{ForeignDatagram, Inbox, InboxRoom};
use super::peer::Peer;
use super::sockets::Sockets;
use crate::answers::Answers;
use crate::clock::since;
use crate::current::Current;

/// All state of a socket, behind one lock, which is never held across a wait.
pub(super) struct Hub<S: DatagramHandshake> {
    state: Mutex<State<S>>,
    /// Wakes those who accept, and those who wait for failures.
    pub(super) arrived: Notify,
    /// Wakes those who wait for foreign datagrams.
    pub(super) foreign_arrived: Notify,
}

/// The name of an association.
pub(super) type Id<S> = <<S as DatagramHandshake>::Associations as Associations<S>>::Id;

/// What is behind the lock.
pub(super) struct State<S: DatagramHandshake> {
    pub(super) hub: Weak<Hub<S>>,
    pub(super) associations: S::Associations,
    /// Boxed: up to half of the table is empty.
    pub(super) peers: HashMap<Id<S>, Box<Peer<S>>>,
    pub(super) config: Current<S::Config>,
    /// The generation of the configuration with which associations begin.
    pub(super) generation: u64,
    pub(super) answers: Arc<dyn Answers>,
    pub(super) sockets: Sockets,
    /// Binds sockets for associations.
    pub(super) binder: Option<Binder>,
    /// For datagrams at sockets that the driver doesn't serve.
    pub(super) buffer: Vec<u8>,
    /// The datagram that is being sent.
    pub(super) out: Vec<u8>,
    /// The socket had no room for it; where it goes.
    pub(super) unsent: Option<Path>,
    /// Connections that wait to be accepted. `None`: there is no listener.
    pub(super) arrivals: Option<VecDeque<Id<S>>>,
    /// Clients that came to nothing before they were accepted.
    pub(super) failures: Failures,
    /// For all inboxes.
    pub(super) room: InboxRoom,
    /// Datagrams that aren't DTLS 1.3; `None`: they are dropped.
    pub(super) foreign: Option<Inbox<ForeignDatagram>>,
    /// How many users there are: connections, a listener, and its foreign datagrams. Without any the driver ends.
    pub(super) users: usize,
    /// The driver has ended.
    pub(super) is_over: bool,
    /// Nothing is sent before the connection is used.
    pub(super) is_held: bool,
    driver: Option<Waker>,
    /// When the driver wakes by itself.
    pub(super) alarm: Option<Duration>,
    /// How often receiving has failed in a row.
    pub(super) errors: u32,
    /// Zero of the socket's monotonic time.
    started: Instant,
}

impl<S: DatagramHandshake> Hub<S> {
    pub(super) fn new(
        associations: S::Associations,
        (config, generation): (Current<S::Config>, u64),
        answers: Arc<dyn Answers>,
        sockets: Sockets,
        started: Instant,
    ) -> Arc<Self> {
        Arc::new_cyclic(|hub| {
            let state = State {
                hub: hub.clone(),
                associations,
                peers: HashMap::new(),
                config,
                generation,
                answers,
                sockets,
                binder: None,
                buffer: Vec::new(),
                out: Vec::new(),
                unsent: None,
                arrivals: None,
                failures: Failures::default(),
                room: InboxRoom::default(),
                foreign: None,
                users: 0,
                is_over: false,
                is_held: false,
                driver: None,
                alarm: None,
                errors: 0,
                started,
            };
            Self {
                state: Mutex::new(state),
                arrived: Notify::new(),
                foreign_arrived: Notify::new(),
            }
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: DatagramHandshake> State<S> {
    pub(super) fn now(&self) -> Time {
        since(self.started)
    }

    /// Ends a connection whose user has dropped it.
    pub(super) fn drop_peer(&mut self, id: Id<S>) {
        self.associations.with(id, tessera::Association::close);
        self.flush();
        self.associations.remove(id);
        self.peers.remove(&id);
        self.close_sockets();
        self.leave();
    }

    /// A user has gone.
    pub(super) fn leave(&mut self) {
        self.users -= 1;
        if self.users == 0 {
            self.wake_driver();
        }
    }

    /// Sets when the driver wakes by itself, and what wakes it before.
    pub(super) fn arm(&mut self, driver: &Waker) -> Option<Instant> {
        self.driver = Some(driver.clone());
        self.alarm = self.associations.deadline().filter(|_| !self.is_held);
        // An alarm that changes nothing must not keep the driver busy.
        let at = |alarm: Duration| self.started.checked_add(alarm);
        self.alarm.and_then(at).map(|at| at.max(Instant::now() + TICK))
    }

    /// Lets nothing wake the driver, which is awake.
    pub(super) fn disarm(&mut self) {
        self.driver = None;
    }

    pub(super) fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

/// The driver's shortest sleep.
const TICK: Duration = Duration::from_millis(1);
