//! The clients of drained proxies that were sent away.

use std::collections::HashMap;
use std::time::Duration;

use tessera_bindings::{ClientName, ProxyName};
use tokio::time::Instant;

/// When each client is sent away again.
#[derive(Default)]
pub(super) struct Attempts(HashMap<ClientName, Attempt>);

struct Attempt {
    to: ProxyName,
    count: u32,
    /// Between the end of its move and the next one.
    pause: Duration,
    next: Instant,
    is_under_way: bool,
}

/// The first pause before a client is tried again; it doubles each time, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a client that was tried is remembered.
const REMEMBER: Duration = Duration::from_secs(600);

impl Attempts {
    /// Forgets those that were tried long ago.
    pub(super) fn forget(&mut self, now: Instant) {
        self.0.retain(|_, attempt| now < attempt.next + REMEMBER);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns where a client was sent last.
    pub(super) fn last(&self, client: &ClientName) -> Option<&ProxyName> {
        self.0.get(client).map(|attempt| &attempt.to)
    }

    /// The client is on its way.
    pub(super) fn is_moving(&mut self, client: &ClientName, now: Instant) {
        if let Some(attempt) = self.0.get_mut(client) {
            attempt.is_under_way = true;
            attempt.next = now + attempt.pause;
        }
    }

    /// The client is at its drained proxy. Returns whether it is sent away now: a pause begins when its move was given up.
    pub(super) fn is_due(&mut self, client: &ClientName, now: Instant) -> bool {
        let Some(attempt) = self.0.get_mut(client) else { return true };
        if attempt.is_under_way {
            attempt.is_under_way = false;
            attempt.next = now + attempt.pause;
        }
        attempt.next <= now
    }

    /// A move has begun, or was refused.
    pub(super) fn note(
        &mut self,
        client: ClientName,
        to: ProxyName,
        is_under_way: bool,
        pause: Option<Duration>,
    ) {
        let count = self.0.get(&client).map_or(0, |attempt| attempt.count);
        let doubled = PAUSE.saturating_mul(1 << count.min(6)).min(LONGEST_PAUSE);
        let pause = pause.unwrap_or(doubled + Duration::from_millis(fastrand::u64(..250)));
        let (count, next) = (count.saturating_add(1), Instant::now() + pause);
        self.0.insert(client, Attempt { to, count, pause, next, is_under_way });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_does_not_follow_is_sent_again_after_a_pause_from_the_end_of_its_move() {
        let (client, b) = (ClientName::new("drone").unwrap(), ProxyName("b".into()));
        let mut attempts = Attempts::default();
        let mut now = Instant::now();
        assert!(attempts.is_due(&client, now), "it was never tried");
        for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
            attempts.note(client.clone(), b.clone(), true, None);
            assert_eq!(attempts.last(&client), Some(&b));
            // As long as it may take to follow.
            now += Duration::from_secs(60);
            attempts.is_moving(&client, now);
            now += Duration::from_secs(1);
            assert!(!attempts.is_due(&client, now), "it has just come back");
            let pause = Duration::from_secs(pause);
            assert!(!attempts.is_due(&client, now + pause - Duration::from_millis(1)));
            now += pause + Duration::from_millis(250);
            assert!(attempts.is_due(&client, now));
        }
        attempts.note(client.clone(), b, false, Some(Duration::from_secs(7)));
        assert!(!attempts.is_due(&client, Instant::now() + Duration::from_secs(6)), "refused");
        attempts.forget(now + REMEMBER + LONGEST_PAUSE);
        assert_eq!(attempts.last(&client), None);
    }
}
