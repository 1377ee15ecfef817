//! The associations of an endpoint, awake or idle.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::{IdleAssociation, Time};

use super::entry::Entry;
use super::own_sockets::OwnSocket;
use crate::budget::Budget;
use crate::path::{Path, Source};

/// All associations, by number.
#[derive(Default)]
pub(super) struct Associations {
    slots: HashMap<u64, Slot>,
    idle: usize,
}

/// One of the two; boxed: up to half of the table is empty.
struct Slot {
    awake: Option<Box<Entry>>,
    idle: Option<Box<IdleEntry>>,
}

/// An association with nothing to send, and no deadline.
struct IdleEntry {
    association: IdleAssociation,
    path: Path,
    source: Source,
    budget: Budget,
    own: Option<Box<OwnSocket>>,
    received: u64,
    sent: u64,
}

impl Associations {
    pub(super) fn insert(&mut self, id: u64, entry: Entry) {
        self.slots.insert(id, Slot { awake: Some(Box::new(entry)), idle: None });
    }

    /// Returns an association; if it is idle, wakes it.
    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Entry> {
        self.slots.get_mut(&id)?.wake(&mut self.idle)
    }

    /// Looks at an association, which is idle afterwards if it was.
    pub(super) fn look_at<T>(
        &mut self,
        id: u64,
        now: Time,
        look: impl FnOnce(&Entry) -> T,
    ) -> Option<T> {
        let was_idle = self.is_idle(id);
        let seen = self.get_mut(id).map(|entry| look(entry));
        if was_idle {
            self.make_idle(id, now);
        }
        seen
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Box<Entry>> {
        let mut slot = self.slots.remove(&id)?;
        slot.wake(&mut self.idle);
        slot.awake
    }

    /// Keeps an association in little memory until it is needed again; returns whether that is possible now.
    pub(super) fn make_idle(&mut self, id: u64, now: Time) -> bool {
        let Some(slot) = self.slots.get_mut(&id) else { return false };
        if let Some(entry) = &mut slot.awake
            && let Some(idle) = entry.take_idle(now)
        {
            *slot = Slot { awake: None, idle: Some(Box::new(idle)) };
            self.idle += 1;
        }
        slot.idle.is_some()
    }

    pub(super) fn path(&self, id: u64) -> Option<Path> {
        let Slot { awake, idle } = self.slots.get(&id)?;
        awake.as_ref().map(|it| it.peer.current()).or(idle.as_ref().map(|it| it.path))
    }

    /// Returns an association whose handshake isn't complete.
    pub(super) fn incomplete(&self, id: u64) -> Option<&Entry> {
        let entry = self.slots.get(&id)?.awake.as_deref()?;
        (!entry.association.facts().handshake_complete).then_some(entry)
    }

    pub(super) fn own_socket(&self, id: u64) -> Option<SocketAddr> {
        let Slot { awake, idle } = self.slots.get(&id)?;
        let own = awake.as_ref().map(|it| &it.own).or(idle.as_ref().map(|it| &it.own));
        own?.as_ref().map(|own| own.local)
    }

    /// Lets an association wake at this time, while it is idle.
    pub(super) fn set_idle_deadline(&mut self, id: u64, deadline: Duration) {
        if let Some(Slot { idle: Some(idle), .. }) = self.slots.get_mut(&id)
            && let Some(own) = &mut idle.own
        {
            own.deadline = Some(deadline);
        }
    }

    /// Returns how many bytes have come from the peer, and have gone to it.
    pub(super) fn bytes(&self, id: u64) -> Option<[u64; 2]> {
        let Slot { awake, idle } = self.slots.get(&id)?;
        let awake = awake.as_ref().map(|it| [it.received, it.sent]);
        awake.or(idle.as_ref().map(|it| [it.received, it.sent]))
    }

    /// Returns whether an association is idle.
    pub(super) fn is_idle(&self, id: u64) -> bool {
        self.slots.get(&id).is_some_and(|slot| slot.idle.is_some())
    }

    /// Returns how many are idle.
    pub(super) fn idle_len(&self) -> usize {
        self.idle
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.slots.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl Slot {
    fn wake(&mut self, idle_count: &mut usize) -> Option<&mut Entry> {
        if let Some(idle) = self.idle.take() {
            *idle_count -= 1;
            self.awake = Some(Box::new(idle.wake()));
        }
        self.awake.as_deref_mut()
    }
}

impl Entry {
    fn take_idle(&mut self, now: Time) -> Option<IdleEntry> {
        if self.is_ready {
            return None;
        }
        let Self { source, received, sent, deadline, .. } = *self;
        let association = self.association.take_idle(now)?;
        let mut own = self.own.take();
        if let Some(own) = &mut own {
            own.deadline = deadline;
        }
        Some(IdleEntry {
            association,
            path: self.peer.current(),
            source,
            budget: self.peer.budget(),
            own,
            received,
            sent,
        })
    }
}

impl IdleEntry {
    fn wake(self) -> Entry {
        let Self { association, path, source, budget, mut own, received, sent } = self;
        let deadline = own.as_mut().and_then(|own| own.deadline.take());
        let entry = Entry::new(association.wake(), path, budget);
        Entry { received, sent, source, own, deadline, ..entry }
    }
}
