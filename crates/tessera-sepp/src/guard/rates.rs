//! Rate limits of peers.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::context::Service;
use super::{Refusal, Rule};
use crate::config;

type Bucket<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// The limits of one peer: requests, requests for each service, new connections. Each limit is a rate per second, and
/// also the burst.
pub struct RateLimits<C: Clock = DefaultClock> {
    clock: C,
    requests: Option<Bucket<C>>,
    /// Indexed by service; empty if there is no limit.
    services: Box<[Bucket<C>]>,
    connections: Option<Bucket<C>>,
}

impl RateLimits {
    /// Starts with full buckets.
    pub fn new(rate: &config::Rate) -> Self {
        Self::with_clock(rate, DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimits<C> {
    pub(super) fn with_clock(rate: &config::Rate, clock: C) -> Self {
        let bucket = |per_second: NonZeroU32| {
            RateLimiter::direct_with_clock(Quota::per_second(per_second), clock.clone())
        };
        Self {
            requests: rate.requests.map(bucket),
            services: match rate.requests_per_service {
                Some(limit) => (0..Service::COUNT).map(|_| bucket(limit)).collect(),
                None => Box::default(),
            },
            connections: rate.new_connections.map(bucket),
            clock,
        }
    }

    /// Charges one request to the limit of its service. Checked first: a request refused here doesn't count towards the
    /// peer's limit.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub(super) fn of_service(&self, service: Service) -> Result<(), Refusal> {
        let bucket = self.services.get(service.index());
        let taken = bucket.map_or(Ok(()), |bucket| self.take(bucket));
        taken.map_err(|wait| too_many(Rule::RateOfService, service, wait))
    }

    /// Charges one request to the limit of the peer.
    ///
    /// # Errors
    /// If it exceeds the limit.
    pub(super) fn of_peer(&self, service: Service) -> Result<(), Refusal> {
        let taken = self.requests.as_ref().map_or(Ok(()), |bucket| self.take(bucket));
        taken.map_err(|wait| too_many(Rule::Rate, service, wait))
    }

    /// Charges one new connection.
    ///
    /// # Errors
    /// If it exceeds the limit: how long to wait.
    pub fn connection(&self) -> Result<(), Duration> {
        self.connections.as_ref().map_or(Ok(()), |bucket| self.take(bucket))
    }

    fn take(&self, bucket: &Bucket<C>) -> Result<(), Duration> {
        bucket.check().map_err(|not_until| not_until.wait_time_from(self.clock.now()))
    }
}

fn too_many(rule: Rule, service: Service, wait: Duration) -> Refusal {
    Refusal { retry_after: Some(wait), ..Refusal::new(rule, "request", service.name()) }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    #[test]
    fn each_service_has_a_limit_of_its_own_below_that_of_the_peer() {
        let clock = FakeRelativeClock::default();
        let rate = config::Rate {
            requests: NonZeroU32::new(5),
            requests_per_service: NonZeroU32::new(3),
            new_connections: NonZeroU32::new(1),
        };
        let limits = RateLimits::with_clock(&rate, clock.clone());
        let [disc, sdm] = ["/nnrf-disc/v1", "/nudm-sdm/v2"].map(Service::of);
        let request = |service| limits.of_service(service).and_then(|()| limits.of_peer(service));
        let passed = |service| (0..10).filter(|_| request(service).is_ok()).count();
        assert_eq!((passed(disc), passed(sdm)), (3, 2));
        let refusal = request(disc).unwrap_err();
        assert_eq!(refusal.rule, Rule::RateOfService);
        assert_eq!(refusal.status, 429);
        assert_eq!(refusal.retry_after_seconds(), Some(1));
        clock.advance(Duration::from_secs(1));
        assert_eq!(passed(sdm), 3);
        let one_more = request(Service::Other);
        assert!(one_more.is_ok() && request(Service::Other).is_ok());
        assert_eq!(request(Service::Other).unwrap_err().rule, Rule::Rate);
        assert!(limits.connection().is_ok());
        assert!(limits.connection().unwrap_err() > Duration::ZERO);
    }

    #[test]
    fn nothing_is_limited_by_default() {
        let limits = RateLimits::new(&config::Rate::default());
        assert!((0..10_000).all(|_| limits.of_service(Service::Other).is_ok()
            && limits.of_peer(Service::Other).is_ok()
            && limits.connection().is_ok()));
    }
}
