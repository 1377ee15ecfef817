//! Whether peers can be reached on N32-f: observed from open connections and requests, and by probes where there are
//! neither.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::http::client::{CallError, CallErrorKind, Delivery};
use tessera_proxy::http::deadline::Deadline;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Sepp;
use super::link::Slot;
use super::live::ActiveConfig;
use super::policy::PeerIndex;
use crate::n32f::reach::{Probe, Reach};
use crate::names::Fqdn;

/// The maximum time of a probe: connecting to each address of a peer.
const PROBE: Duration = Duration::from_secs(5);

/// How long the connection of a visit stays open, so that its tickets arrive.
const STAY: Duration = Duration::from_secs(2);

impl Sepp {
    /// Updates the reachability of all peers, and probes those without a connection. Call it every second.
    pub fn look_at_ways(self: &Arc<Self>) {
        let live = self.live();
        let now = Instant::now();
        for (peer, policy) in live.policy.all() {
            let Some(slot) = live.slot(peer) else { continue };
            let association = self.associations().established(&policy.fqdn);
            let Some(association) = association else {
                self.note(slot, &policy.fqdn, Reach::Unknown);
                continue;
            };
            if !slot.is_dialled(&association) {
                continue;
            }
            let Some(link) = self.connects.link(&live, peer, &association) else { continue };
            let status = link.pool.status();
            if status.ready > 0 {
                self.note(slot, &policy.fqdn, Reach::Reachable);
            } else if status.connections == 0
                && let Some(probe) = slot.reach().begin_probe(now)
            {
                let (sepp, slot, fqdn) = (self.clone(), slot.clone(), policy.fqdn.clone());
                tokio::spawn(async move {
                    let deadline = Deadline::after(PROBE);
                    let probed = match probe {
                        Probe::Keep => link.pool.probe(deadline).await,
                        Probe::Visit => link.pool.visit(deadline, STAY).await,
                    };
                    if sepp.is_current(&slot) {
                        let reach =
                            probed.map_or_else(|error| unreachable(&error), |()| Reach::Reachable);
                        sepp.note(&slot, &fqdn, reach);
                    }
                    slot.reach().end_probe(Instant::now());
                });
            }
        }
    }

    /// Records what an unanswered request shows about the path to a peer.
    pub(super) fn note_call(&self, live: &ActiveConfig, peer: PeerIndex, error: &CallError) {
        let is_way = match error.kind {
            CallErrorKind::Unreachable => true,
            // An address failed. Without a source, the deadline may have been short, or the peer's function slow.
            CallErrorKind::DeadlineExceeded => {
                error.sent == Delivery::Nothing && error.source().is_some()
            }
            _ => false,
        };
        if is_way && let (Some(slot), Some(policy)) = (live.slot(peer), live.policy.peer(peer)) {
            self.note(slot, &policy.fqdn, unreachable(error));
        }
    }

    /// Resets the reachability of peers whose slot the new configuration doesn't keep.
    pub(super) fn forget_ways(&self, earlier: &ActiveConfig) {
        for slot in earlier.slots().filter(|slot| !self.is_current(slot)) {
            self.note(slot, slot.fqdn(), Reach::Unknown);
        }
    }

    fn is_current(&self, slot: &Arc<Slot>) -> bool {
        self.live().slots().any(|current| Arc::ptr_eq(current, slot))
    }

    fn note(&self, slot: &Slot, peer: &Fqdn, reach: Reach) {
        let mut way = slot.reach();
        if way.set(reach.clone(), Instant::now()) {
            // Called with the lock held, so that the observer sees the states in order.
            self.observer().reaches(peer, &reach);
            drop(way);
            self.ways.send_replace(());
        }
    }

    /// Returns a receiver that is notified when a peer becomes reachable or unreachable.
    pub fn watch_ways(&self) -> watch::Receiver<()> {
        self.ways.subscribe()
    }

    /// Returns what is known about the path to a peer, and for how long.
    pub fn reach(&self, peer: &Fqdn) -> (Reach, Duration) {
        let live = self.live();
        let slot = live.policy.named(peer).and_then(|peer| live.slot(peer));
        slot.map_or((Reach::Unknown, Duration::ZERO), |slot| {
            let way = slot.reach();
            (way.reach().clone(), way.since().elapsed())
        })
    }
}

fn unreachable(error: &CallError) -> Reach {
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    Reach::Unreachable { reason: reason.into() }
}
