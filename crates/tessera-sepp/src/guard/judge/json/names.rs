//! Names that occur twice in one object.

use std::collections::HashSet;

/// The names of one object, by their case-folded hashes: of two equal names readers take the first or the last, and
/// some ignore case.
#[derive(Default)]
pub(super) struct Names {
    few: [u64; Self::FEW],
    len: usize,
    /// `None` until there are more names.
    many: Option<HashSet<u64>>,
}

impl Names {
    const FEW: usize = 16;

    /// Adds a name, and returns whether it is new.
    pub(super) fn insert(&mut self, name: u64) -> bool {
        if self.few[..self.len].contains(&name) {
            return false;
        }
        match self.few.get_mut(self.len) {
            Some(place) => {
                *place = name;
                self.len += 1;
                true
            }
            None => self.many.get_or_insert_default().insert(name),
        }
    }
}
