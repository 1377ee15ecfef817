//! The pools of connections to each origin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    answers: Arc<AtomicUsize>,
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
        pool.answers.fetch_add(1, Ordering::Relaxed);
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
        self.answers.load(Ordering::Relaxed)
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
}
