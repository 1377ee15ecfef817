//! A configured peer: its machine, and notification of its changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;

use super::Association;
use super::event::{Event, Observer, Role};
use super::machine::{Machine, Outcome, State};
use crate::identity::CertificateIdentity;
use crate::n32c::initiator::{Reply, Target, Transport, TransportError, body, paths};
use crate::n32c::messages::{SecNegotiateReqData, SecNegotiateRspData};
use crate::n32c::refusal::Refusal;
use crate::names::Fqdn;

pub(crate) struct Peer {
    pub fqdn: Fqdn,
    machine: Mutex<Machine>,
    /// Changes with each step of the machine, including its plans.
    changes: watch::Sender<u64>,
    /// Changes with the state of any peer.
    all_changes: watch::Sender<u64>,
    observer: Arc<dyn Observer>,
}

impl Peer {
    pub(super) fn new(
        fqdn: Fqdn,
        machine: Machine,
        all_changes: watch::Sender<u64>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let changes = watch::Sender::new(0);
        Self { fqdn, machine: Mutex::new(machine), changes, all_changes, observer }
    }

    /// Reads the machine without changing it.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.lock())
    }

    /// Returns whether its certificate must be under this trust anchor.
    pub fn is_under(&self, anchor: &str) -> bool {
        self.read(|machine| *machine.settings().anchor == *anchor)
    }

    pub(super) fn established(&self) -> Option<Arc<Association>> {
        self.read(|machine| machine.established().cloned())
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Runs a step of the machine, and notifies waiters.
    pub(super) fn step<T>(&self, step: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = self.lock();
        let before = machine.state().clone();
        let result = step(&mut machine);
        let after = machine.state().clone();
        drop(machine);
        self.changes.send_modify(|version| *version += 1);
        if before != after {
            self.all_changes.send_modify(|version| *version += 1);
            self.tell(&Event::Changed { peer: &self.fqdn, state: &after });
        }
        result
    }

    /// Handles the peer's request to establish or end the association.
    pub fn ask(
        &self,
        identity: &CertificateIdentity,
        request: &SecNegotiateReqData,
    ) -> Result<SecNegotiateRspData, Refusal> {
        self.step(|machine| machine.asked(now(), identity, request))
    }

    pub fn tell(&self, event: &Event<'_>) {
        self.observer.on(event);
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        // No step leaves a machine half changed.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs exchanges when they are due, forever.
    pub(super) async fn run(&self, transport: &dyn Transport) {
        let mut changes = self.changes();
        loop {
            changes.borrow_and_update();
            match self.read(Machine::next) {
                Some(next) if next <= now() => self.exchange(transport).await,
                Some(next) => {
                    let sleep = tokio::time::sleep_until(next.into());
                    tokio::select! {
                        () = sleep => {}
                        changed = changes.changed() => if changed.is_err() { return },
                    }
                }
                None => {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn exchange(&self, transport: &dyn Transport) {
        let Some(mut order) = self.step(|machine| machine.begin(now())) else { return };
        let deadline = Deadline::after(EXCHANGE);
        loop {
            let number = order.number;
            let (path, body) = (paths::EXCHANGE_CAPABILITY, body(&order.request));
            let reply = post(transport, &self.fqdn, &order.to, path, body, deadline).await;
            match self.step(|machine| machine.answered(now(), number, reply)) {
                Outcome::Redirected(next) => order = *next,
                Outcome::Established => {
                    self.tell(&Event::Agreed { peer: &self.fqdn, role: Role::Initiator });
                    return;
                }
                Outcome::Failed(failure) => {
                    self.tell(&Event::Failed { peer: &self.fqdn, failure: &failure });
                    return;
                }
                Outcome::Stale => return,
            }
        }
    }

    /// Returns whether a new attempt will begin before `deadline`, or is in progress, or the peer may begin at any
    /// time.
    pub(super) fn may_become_established(&self, deadline: Deadline) -> bool {
        self.read(|machine| match machine.state() {
            State::Exception(_) | State::Terminated(_) if machine.settings().initiate => {
                machine.is_under_way()
                    || machine.next().is_some_and(|next| next <= deadline.instant().into_std())
            }
            State::Terminated(super::Terminator::Us) => false,
            _ => true,
        })
    }
}

/// The timeout of an exchange, including its redirections.
const EXCHANGE: Duration = Duration::from_secs(10);

/// Returns the time for the machines.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Calls [`Transport::post`], and enforces the deadline itself.
pub(super) async fn post(
    transport: &dyn Transport,
    peer: &Fqdn,
    to: &Target,
    path: &'static str,
    body: Bytes,
    deadline: Deadline,
) -> Result<Reply, TransportError> {
    let reply = deadline.limit(transport.post(peer, to, path, body, deadline)).await;
    reply.unwrap_or(Err(TransportError::TimedOut))
}
