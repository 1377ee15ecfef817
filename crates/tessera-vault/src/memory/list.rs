//! Lists threaded through slots: append and remove anywhere in constant time.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A slot's links in the list that contains it.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    older: u32,
    newer: u32,
}

impl Links {
    pub(crate) const UNLINKED: Self = Self { older: NONE, newer: NONE };
}

/// A value that can be in a list.
pub(crate) trait ListNode {
    fn links(&mut self) -> &mut Links;
}

/// A list of slots, the oldest first.
pub(crate) struct List {
    oldest: u32,
    newest: u32,
    len: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self { oldest: NONE, newest: NONE, len: 0 };

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Returns the slot added after `slot`.
    pub(crate) fn after(slots: &mut [impl ListNode], slot: u32) -> Option<u32> {
        let newer = slots[slot as usize].links().newer;
        (newer != NONE).then_some(newer)
    }

    pub(crate) fn push(&mut self, slots: &mut [impl ListNode], slot: u32) {
        *slots[slot as usize].links() = Links { older: self.newest, newer: NONE };
        match self.newest {
            NONE => self.oldest = slot,
            newest => slots[newest as usize].links().newer = slot,
        }
        self.newest = slot;
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, slots: &mut [impl ListNode], slot: u32) {
        let links = std::mem::replace(slots[slot as usize].links(), Links::UNLINKED);
        match links.older {
            NONE => self.oldest = links.newer,
            older => slots[older as usize].links().newer = links.newer,
        }
        match links.newer {
            NONE => self.newest = links.older,
            newer => slots[newer as usize].links().older = links.older,
        }
        self.len -= 1;
    }
}
