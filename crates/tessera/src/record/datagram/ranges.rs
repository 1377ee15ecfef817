//! Sets of byte ranges: what has arrived of a message, or is still to be acknowledged.

use alloc::vec::Vec;
use core::ops::Range;

/// A set of numbers, as ranges in ascending order that don't touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<usize>>);

impl Ranges {
    /// Returns the set of this range alone.
    pub(super) fn of(range: Range<usize>) -> Self {
        let mut ranges = Self::default();
        ranges.insert(range);
        ranges
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many ranges there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the first range.
    pub(super) fn first(&self) -> Option<Range<usize>> {
        self.0.first().cloned()
    }

    /// Returns whether the set holds all of `range`.
    pub(super) fn covers(&self, range: Range<usize>) -> bool {
        range.is_empty()
            || self.0.iter().any(|held| held.start <= range.start && range.end <= held.end)
    }

    /// Adds a range.
    pub(super) fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        // Those that overlap or touch it become one with it.
        let begin = self.0.partition_point(|held| held.end < range.start);
        let end = self.0.partition_point(|held| held.start <= range.end);
        let mut joined = range;
        if let Some(first) = self.0.get(begin).filter(|_| begin < end) {
            joined.start = joined.start.min(first.start);
        }
        if let Some(last) = self.0[begin..end].last() {
            joined.end = joined.end.max(last.end);
        }
        self.0.splice(begin..end, [joined]);
    }

    /// Removes a range.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let begin = self.0.partition_point(|held| held.end <= range.start);
        let end = self.0.partition_point(|held| held.start < range.end);
        let cut = &self.0[begin..end];
        let before = cut.first().map(|first| first.start..range.start);
        let after = cut.last().map(|last| range.end..last.end);
        let left = [before, after].into_iter().flatten().filter(|range| !range.is_empty());
        self.0.splice(begin..end, left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_equals_the_numbers_it_was_given_and_has_no_others() {
        // Every sequence of four insertions and removals of ranges within 0..6.
        let ranges: Vec<_> = (0..6).flat_map(|a| (a..=6).map(move |b| a..b)).step_by(3).collect();
        for first in &ranges {
            for second in &ranges {
                for third in &ranges {
                    let mut set = Ranges::of(first.clone());
                    let mut bits: Vec<bool> = (0..6).map(|n| first.contains(&n)).collect();
                    set.remove(second.clone());
                    bits[second.clone()].fill(false);
                    set.insert(third.clone());
                    bits[third.clone()].fill(true);
                    for (n, is_held) in bits.iter().enumerate() {
                        let what = format_args!("{first:?} {second:?} {third:?}");
                        assert_eq!(set.covers(n..n + 1), *is_held, "{what}");
                    }
                    assert!(set.0.windows(2).all(|pair| pair[0].end < pair[1].start), "{set:?}");
                    assert!(set.0.iter().all(|range| !range.is_empty()));
                }
            }
        }
    }
}
