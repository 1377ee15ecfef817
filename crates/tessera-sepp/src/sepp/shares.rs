//! Fair shares of what all peers use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::names::Fqdn;

/// Places of which one peer gets at most half, so others always find room.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    of_one: usize,
    // A peer without places has no entry.
    taken: Arc<Mutex<HashMap<Fqdn, usize>>>,
}

/// A peer's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Shares,
    peer: Fqdn,
}

impl Shares {
    /// Creates this number of places.
    pub(crate) fn of(places: usize) -> Self {
        Self { of_one: places.div_ceil(2), taken: Arc::default() }
    }

    /// Takes a place for this peer; returns `None` if it has its full share.
    pub(crate) fn take(&self, peer: &Fqdn) -> Option<Share> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(peer) {
            Some(count) if *count >= self.of_one => return None,
            Some(count) => *count += 1,
            None => {
                taken.insert(peer.clone(), 1);
            }
        }
        Some(Share { shares: self.clone(), peer: peer.clone() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_has_half_and_others_have_theirs() {
        let [one, other] =
            ["sepp.one.example", "sepp.other.example"].map(|name| name.parse::<Fqdn>().unwrap());
        for (places, expected) in [(10, 5), (5, 3), (1, 1)] {
            let shares = Shares::of(places);
            let take = |peer| std::iter::from_fn(|| shares.take(peer)).collect::<Vec<_>>();
            let (of_one, of_other) = (take(&one), take(&other));
            assert_eq!((of_one.len(), of_other.len()), (expected, expected));
            drop(of_one);
            assert!(shares.take(&other).is_none() && shares.take(&one).is_some());
            drop(of_other);
            assert!(shares.taken.lock().unwrap().is_empty(), "no peer is remembered");
        }
    }
}
