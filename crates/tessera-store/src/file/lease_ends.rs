//! When leases end, on a clock that the caller reads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// In memory alone: a store that is opened gives each lease its full lifetime again.
#[derive(Default)]
pub(super) struct LeaseEnds(BTreeMap<u64, LeaseEnd>);

struct LeaseEnd {
    lifetime: Duration,
    at: Instant,
}

impl LeaseEnds {
    /// Forgets leases that the store no longer has, and counts new ones from now.
    pub(super) fn follow(&mut self, leases: &BTreeMap<u64, u32>, now: Instant) {
        self.0.retain(|lease, _| leases.contains_key(lease));
        for (lease, seconds) in leases {
            let lifetime = Duration::from_secs(u64::from(*seconds));
            self.0.entry(*lease).or_insert(LeaseEnd { lifetime, at: now + lifetime });
        }
    }

    /// Prolongs a lease; `false` if it has ended, even if the store still has it.
    pub(super) fn keep_alive(&mut self, lease: u64, now: Instant) -> bool {
        let living = self.0.get_mut(&lease).filter(|end| end.at > now);
        living.map(|end| end.at = now + end.lifetime).is_some()
    }

    /// Returns the leases that have ended. They stay until the store has deleted them.
    pub(super) fn ended(&self, now: Instant) -> Vec<u64> {
        let ended = self.0.iter().filter(|(_, end)| end.at <= now);
        ended.map(|(lease, _)| *lease).collect()
    }

    /// Returns when the next lease ends.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().map(|end| end.at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_after_its_lifetime_unless_it_is_kept_alive() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ends = LeaseEnds::default();
        let mut leases = BTreeMap::from([(1, 10), (2, 4)]);
        ends.follow(&leases, at(0));
        assert_eq!(ends.next(), Some(at(4)));
        assert!(ends.keep_alive(2, at(3)));
        assert_eq!((ends.ended(at(6)), ends.ended(at(7))), (vec![], vec![2]));
        // Once ended it stays ended, though the store has not deleted its entries yet.
        assert!(!ends.keep_alive(2, at(7)));
        ends.follow(&leases, at(8));
        assert_eq!(ends.ended(at(8)), [2]);
        leases.remove(&2);
        leases.insert(3, 1);
        ends.follow(&leases, at(9));
        assert_eq!((ends.next(), ends.ended(at(10))), (Some(at(10)), vec![1, 3]));
        assert!(!ends.keep_alive(2, at(9)));
    }
}
