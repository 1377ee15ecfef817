//! Idle associations of a server that has many.

use super::{Association, ServerAssociation};
use crate::connection_id::ConnectionId;
use crate::handshake::IdleCore;
use crate::record::IdleDatagrams;
use crate::role::Role;
use crate::schedule::DATAGRAM;
use crate::time::Time;

/// An idle association of a server: its secrets, counters and facts, in less than half of the memory of one that
/// [sleeps](Association::sleep). Neither a datagram nor a deadline concerns it until it [wakes](Self::wake).
pub struct IdleAssociation {
    pub(super) core: IdleCore,
    pub(super) datagrams: IdleDatagrams,
    /// Without an agreement on connection IDs.
    pub(super) own_id: Option<ConnectionId>,
    pub(super) awaits_ids: bool,
    pub(super) can_check_paths: bool,
    pub(super) warnings: u8,
}

impl ServerAssociation {
    /// Moves out of an association that can [sleep](Self::sleep) what it needs while it is idle; what is left has ended.
    /// `None`, and nothing changes but that it may sleep, while it has something to report or may still get records under
    /// earlier keys: for four minutes after the handshake, ten seconds after a KeyUpdate, and once either side has closed.
    pub fn take_idle(&mut self, now: Time) -> Option<IdleAssociation> {
        let is_open = !self.read_closed && !self.write_closed;
        if !is_open || self.requested_ids.is_some() || !self.sleep(now) {
            return None;
        }
        let datagrams = self.datagrams.take_idle()?;
        let core = self.core.take_idle()?;
        self.read_closed = true;
        self.write_closed = true;
        self.datagrams.end();
        Some(IdleAssociation {
            core,
            datagrams,
            own_id: self.own_id.take(),
            awaits_ids: self.awaits_ids,
            can_check_paths: self.can_check_paths,
            warnings: self.warnings,
        })
    }
}

impl IdleAssociation {
    /// Returns the association that it was. It derives its keys when the next record comes or goes.
    #[must_use]
    pub fn wake(self) -> ServerAssociation {
        let datagrams = self.datagrams.wake(Role::Server, self.core.suite());
        Association {
            awaits_ids: self.awaits_ids,
            can_check_paths: self.can_check_paths,
            warnings: self.warnings,
            ..Association::new(self.core.wake(&DATAGRAM), datagrams, self.own_id)
        }
    }
}
