//! Which refusals are in the log already.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::wire::Refusal;

/// The clients, by identity, and the reasons that were logged: a client that is wrong is so many times a second.
#[derive(Default)]
pub(super) struct LoggedRefusals(Mutex<HashSet<(Vec<u8>, Refusal)>>);

/// The most that are remembered; after that, nothing more is logged. Clients' authority bounds the identities.
const MOST: usize = 4096;

impl LoggedRefusals {
    /// Whether this client's refusal for this reason belongs in the log: once.
    pub(super) fn is_new(&self, identity: &[u8], refusal: Refusal) -> bool {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logged.len() < MOST && logged.insert((identity.to_vec(), refusal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_logged_once_for_each_reason() {
        let logged = LoggedRefusals::default();
        for (client, refusal) in
            [(b"dns:a", Refusal::Rate), (b"dns:a", Refusal::Content), (b"dns:b", Refusal::Rate)]
        {
            assert!(logged.is_new(client, refusal) && !logged.is_new(client, refusal));
        }
    }

    #[test]
    fn the_memory_of_what_was_logged_is_bounded() {
        let logged = LoggedRefusals::default();
        let new = (0..2 * MOST).filter(|at| logged.is_new(&at.to_be_bytes(), Refusal::Rate));
        assert_eq!(new.count(), MOST);
    }
}
