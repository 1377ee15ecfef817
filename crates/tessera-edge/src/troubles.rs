//! Lines about what fails again and again: one in a while for each cause.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The causes that were reported. There must be few.
pub(crate) struct Troubles<C>(Mutex<HashMap<C, Trouble>>);

struct Trouble {
    reported: Instant,
    left_out: u64,
}

/// How often a cause is reported.
const PAUSE: Duration = Duration::from_secs(10);

impl<C: Clone + Eq + Hash> Troubles<C> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Returns how many failures of this cause were left out since it was reported; `None`: leave this one out, too.
    pub(crate) fn due(&self, cause: &C, now: Instant) -> Option<u64> {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(trouble) = troubles.get_mut(cause) else {
            troubles.insert(cause.clone(), Trouble { reported: now, left_out: 0 });
            return Some(0);
        };
        if now.saturating_duration_since(trouble.reported) < PAUSE {
            trouble.left_out += 1;
            return None;
        }
        trouble.reported = now;
        Some(std::mem::take(&mut trouble.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_reported_once_in_a_while_with_the_number_of_those_left_out() {
        let (troubles, now) = (Troubles::new(), Instant::now());
        assert_eq!(troubles.due(&"b", now), Some(0));
        for _ in 0..3 {
            assert_eq!(troubles.due(&"b", now + PAUSE / 2), None);
        }
        assert_eq!(troubles.due(&"c", now + PAUSE / 2), Some(0), "another cause");
        assert_eq!(troubles.due(&"b", now + PAUSE), Some(3));
        assert_eq!(troubles.due(&"b", now + PAUSE * 2), Some(0));
    }
}
