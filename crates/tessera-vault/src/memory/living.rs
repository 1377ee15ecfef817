//! The secrets of a shard by age, and which of them give way to new ones when there is no more room.

use crate::memory::clients::Account;
use crate::memory::list::List;

/// Unknown clients can't be counted one by one. So all of them together have a share of the room:
/// they can't push out those that have a name, nor those them. What one side leaves free the other may use.
pub(crate) struct Living {
    nameless: List,
    named: List,
}

/// One part in this many of the room is for clients whose name is known.
const RESERVED: usize = 4;

impl Living {
    pub(crate) const EMPTY: Self = Self { nameless: List::EMPTY, named: List::EMPTY };

    pub(crate) fn len(&self) -> usize {
        self.nameless.len() + self.named.len()
    }

    /// The list of secrets on an account.
    pub(crate) fn of(&mut self, account: Account) -> &mut List {
        match account {
            Account::NOBODY => &mut self.nameless,
            _ => &mut self.named,
        }
    }

    /// The oldest on either side.
    pub(crate) fn oldest(&self) -> [Option<u32>; 2] {
        [self.nameless.oldest(), self.named.oldest()]
    }

    /// What gives way to a secret on this account where all `room` is taken: the oldest of the side that has
    /// more than its share.
    pub(crate) fn gives_way(&self, account: Account, room: usize) -> Option<u32> {
        let reserved = room.div_ceil(RESERVED);
        let (own, other, share) = match account {
            Account::NOBODY => (&self.nameless, &self.named, room - reserved),
            _ => (&self.named, &self.nameless, reserved),
        };
        let (first, second) = if own.len() >= share { (own, other) } else { (other, own) };
        first.oldest().or_else(|| second.oldest())
    }
}
