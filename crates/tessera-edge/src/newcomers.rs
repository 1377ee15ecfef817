//! How many clients each address has bound here, where names are free: a single address must not bind all that the pool may
//! have.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_tokio::Origin;

/// Counts the clients of each address that was bound here.
pub(crate) struct Newcomers {
    /// The most of one address.
    most: usize,
    counts: Mutex<HashMap<Origin, usize>>,
}

/// The place of one client, until it is forgotten.
pub(crate) struct NewcomerPlace {
    newcomers: Arc<Newcomers>,
    origin: Origin,
}

impl Newcomers {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, counts: Mutex::default() })
    }

    /// Returns a place for a client from this address; `None` if the address has as many as it may.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<NewcomerPlace> {
        let origin = Origin::from(address);
        let mut counts = self.counts();
        let count = counts.get(&origin).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        counts.insert(origin, count + 1);
        Some(NewcomerPlace { newcomers: self.clone(), origin })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Origin, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NewcomerPlace {
    fn drop(&mut self) {
        let mut counts = self.newcomers.counts();
        if let Some(count) = counts.get_mut(&self.origin) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_places_until_they_are_given_up() {
        let newcomers = Newcomers::new(2);
        let admit = |address: &str| newcomers.admit(address.parse().unwrap());
        let places = [admit("192.0.2.1"), admit("::ffff:192.0.2.1")];
        assert!(places.iter().all(Option::is_some));
        assert!(admit("192.0.2.1").is_none());
        let other = [admit("2001:db8::1"), admit("2001:db8::2")];
        assert!(other.iter().all(Option::is_some));
        assert!(admit("2001:db8::3").is_none(), "a network has as many addresses as it likes");
        drop(places);
        assert!(admit("192.0.2.1").is_some());
        drop(other);
        assert!(newcomers.counts().is_empty(), "addresses that are away take memory");
    }
}
