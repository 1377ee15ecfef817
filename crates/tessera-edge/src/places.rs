//! How much one holder takes, a client or an address, of what all share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_bindings::ClientName;
use tessera_tokio::Origin;

/// Counts the places of each holder.
pub(crate) struct Places<H> {
    /// The most of one holder.
    most: usize,
    counts: Mutex<HashMap<H, usize>>,
}

/// A place, until it is dropped.
pub(crate) struct Place<H: Eq + Hash> {
    places: Arc<Places<H>>,
    holder: H,
}

/// The holder of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SocketHolder {
    /// A client that can't have as many names as it likes.
    Client(ClientName),
    /// Whatever is at an address.
    Address(Origin),
}

impl<H: Clone + Eq + Hash> Places<H> {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, counts: Mutex::default() })
    }

    /// Returns a place for this holder; `None` if it has as many as it may.
    pub(crate) fn take(self: &Arc<Self>, holder: H) -> Option<Place<H>> {
        let mut counts = self.counts();
        let count = counts.get(&holder).copied().unwrap_or_default();
        if count >= self.most {
            return None;
        }
        counts.insert(holder.clone(), count + 1);
        Some(Place { places: self.clone(), holder })
    }
}

impl<H> Places<H> {
    fn counts(&self) -> MutexGuard<'_, HashMap<H, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Eq + Hash> Drop for Place<H> {
    fn drop(&mut self) {
        let mut counts = self.places.counts();
        if let Some(count) = counts.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn an_address_has_its_places_until_they_are_given_up() {
        let places = Places::new(2);
        let take = |address: &str| places.take(Origin::from(address.parse::<IpAddr>().unwrap()));
        let both = [take("192.0.2.1"), take("::ffff:192.0.2.1")];
        assert!(both.iter().all(Option::is_some));
        assert!(take("192.0.2.1").is_none());
        let other = [take("2001:db8::1"), take("2001:db8::2")];
        assert!(other.iter().all(Option::is_some));
        assert!(take("2001:db8::3").is_none(), "a network has as many addresses as it likes");
        drop(both);
        assert!(take("192.0.2.1").is_some());
        drop(other);
        assert!(places.counts().is_empty(), "addresses that are away take memory");
    }
}
