//! The pools of connections to each origin.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::alternative::{Origin, Route};
use crate::recent::Recent;

/// A pool for the route that new requests take to each origin, and the one before it until the new one has
/// answered. A client of hyper-util that is dropped ends its idle connections; requests in progress finish.
pub(crate) struct Pools<P>(Recent<Pair<P>>);

struct Pair<P> {
    current: Pool<P>,
    earlier: Option<Pool<P>>,
}

/// A pooled client for one route.
#[derive(Clone)]
pub(crate) struct Pool<P> {
    pub(crate) route: Route,
    pub(crate) client: P,
    answers: Arc<Mutex<Answers>>,
}

/// What a pool has answered.
#[derive(Default)]
struct Answers {
    count: usize,
    /// Set by requests that were given up since the last answer.
    silence: Option<Silence>,
}

/// Requests that were given up.
struct Silence {
    since: Instant,
    /// For how long they waited, together.
    waited: Duration,
}

impl<P> Pools<P> {
    pub(crate) fn new() -> Self {
        Self(Recent::new())
    }

    /// Returns the pool for this route; it is the one for new requests from here on.
    pub(crate) fn pool(&mut self, origin: &Origin, route: &Route, make: impl Fn() -> P) -> Pool<P>
    where
        P: Clone,
    {
        let make = || Pool { route: route.clone(), client: make(), answers: Arc::default() };
        let pair = self.0.get_or_insert(origin, || Pair { current: make(), earlier: None });
        if pair.current.route != *route {
            // Back to the route before, if this one failed at once.
            let next = pair.earlier.take().filter(|earlier| earlier.route == *route);
            let left = std::mem::replace(&mut pair.current, next.unwrap_or_else(make));
            pair.earlier = Some(left);
        }
        pair.current.clone()
    }

    /// Notes an answer by this pool: the one before it isn't needed any more.
    ///
    /// Until then it also reads the tickets that follow its last answer, and is there if this route is dead.
    pub(crate) fn answered(&mut self, origin: &Origin, pool: &Pool<P>) {
        let mut answers = pool.lock();
        *answers = Answers { count: answers.count + 1, silence: None };
        drop(answers);
        if let Some(pair) = self.0.get(origin)
            && pair.current.route == pool.route
        {
            pair.earlier = None;
        }
    }

    /// Drops all pools.
    pub(crate) fn clear(&mut self) {
        self.0.retain(|_| false);
    }
}

impl<P> Pool<P> {
    /// Returns how many requests were answered.
    pub(crate) fn answers(&self) -> usize {
        self.lock().count
    }

    /// Notes a request that was given up; returns how long requests have waited for the next answer. Several
    /// that wait for a moment, at one time or one after the other, don't add up to a long silence.
    pub(crate) fn gave_up(&self, began: Instant, now: Instant) -> Duration {
        let mut answers = self.lock();
        let first = || Silence { since: began, waited: Duration::ZERO };
        let silence = answers.silence.get_or_insert_with(first);
        silence.waited += now - began;
        silence.waited.min(now - silence.since)
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alternative::{Alternative, Protocol};

    fn to(host: &str) -> Route {
        let (protocol, host) = (Protocol::Http2, host.into());
        Route::Alternative(Alternative { protocol, host, port: 443 })
    }

    #[test]
    fn the_pool_before_stays_until_the_new_one_answers() {
        let origin = Origin { host: "o.example".into(), port: 443 };
        let mut pools = Pools::<Arc<()>>::new();
        let first = pools.pool(&origin, &Route::Origin, Arc::default);
        let b = pools.pool(&origin, &to("b"), Arc::default);
        // One in the test's hands, and one in the pair.
        assert_eq!([&first, &b].map(|pool| Arc::strong_count(&pool.client)), [2, 2]);
        let again = pools.pool(&origin, &Route::Origin, Arc::default);
        assert!(Arc::ptr_eq(&again.client, &first.client));
        drop(again);
        let b_again = pools.pool(&origin, &to("b"), Arc::default);
        assert!(Arc::ptr_eq(&b_again.client, &b.client));
        drop(b_again);
        // A late answer of the pool before is no sign that the new one works.
        pools.answered(&origin, &first);
        assert_eq!([&first, &b].map(|pool| Arc::strong_count(&pool.client)), [2, 2]);
        pools.answered(&origin, &b);
        assert_eq!([&first, &b].map(|pool| Arc::strong_count(&pool.client)), [1, 2]);
        assert_eq!([&first, &b].map(Pool::answers), [1, 1]);
        pools.clear();
        assert_eq!(Arc::strong_count(&b.client), 1);
    }

    #[test]
    fn silence_is_what_requests_waited_one_after_the_other() {
        let origin = Origin { host: "o.example".into(), port: 443 };
        let mut pools = Pools::<()>::new();
        let pool = pools.pool(&origin, &to("b"), || ());
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let gave_up = |began, now| pool.gave_up(at(began), at(now)).as_millis();
        assert_eq!(gave_up(0, 300), 300);
        assert_eq!(gave_up(300, 600), 600);
        // At the same time.
        assert_eq!(gave_up(300, 600), 600);
        pools.answered(&origin, &pool);
        assert_eq!(gave_up(1000, 1100), 100);
        // Long after.
        assert_eq!(gave_up(9000, 9100), 200);
    }
}
