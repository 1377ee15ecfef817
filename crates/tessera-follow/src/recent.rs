//! A bounded map by origin.

use std::collections::HashMap;

use crate::alternative::Origin;

/// Values of the origins that were used last; the others are dropped.
pub(crate) struct Recent<V> {
    values: HashMap<Origin, Slot<V>>,
    uses: u64,
}

struct Slot<V> {
    value: V,
    last_use: u64,
}

impl<V> Recent<V> {
    pub(crate) fn new() -> Self {
        Self { values: HashMap::new(), uses: 0 }
    }

    pub(crate) fn get(&mut self, origin: &Origin) -> Option<&mut V> {
        self.uses += 1;
        let slot = self.values.get_mut(origin)?;
        slot.last_use = self.uses;
        Some(&mut slot.value)
    }

    pub(crate) fn get_or_insert(&mut self, origin: &Origin, make: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        if self.values.len() >= MAX_ORIGINS && !self.values.contains_key(origin) {
            self.remove_oldest();
        }
        let last_use = self.uses;
        let slot = self.values.entry(origin.clone());
        let slot = slot.or_insert_with(|| Slot { value: make(), last_use });
        slot.last_use = last_use;
        &mut slot.value
    }

    pub(crate) fn remove(&mut self, origin: &Origin) {
        self.values.remove(origin);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        self.values.retain(|_, slot| keep(&mut slot.value));
    }

    fn remove_oldest(&mut self) {
        let oldest = self.values.iter().min_by_key(|(_, slot)| slot.last_use);
        if let Some(origin) = oldest.map(|(origin, _)| origin.clone()) {
            self.values.remove(&origin);
        }
    }
}

/// More than a program talks to at one time; a few kilobytes each at most.
const MAX_ORIGINS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(number: usize) -> Origin {
        Origin { host: format!("{number}.example"), port: 443 }
    }

    #[test]
    fn the_origin_that_was_not_used_for_longest_is_dropped() {
        let mut recent = Recent::new();
        for number in 0..MAX_ORIGINS {
            recent.get_or_insert(&origin(number), || number);
        }
        assert_eq!(recent.get(&origin(0)), Some(&mut 0));
        recent.get_or_insert(&origin(MAX_ORIGINS), || MAX_ORIGINS);
        assert_eq!(recent.values.len(), MAX_ORIGINS);
        assert_eq!(recent.get(&origin(0)), Some(&mut 0));
        assert_eq!(recent.get(&origin(1)), None);
    }
}
