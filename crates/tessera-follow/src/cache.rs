//! What is known of the alternatives of each origin. Times are the caller's.

use std::time::{Duration, Instant};

use crate::alt_svc::AltSvc;
use crate::alternative::{Alternative, Origin, Route};
use crate::recent::Recent;

/// Alternatives by origin, and which of them failed.
pub(crate) struct Cache(Recent<Entry>);

#[derive(Default)]
struct Entry {
    /// In order of preference.
    offers: Vec<Offer>,
    pauses: Vec<Pause>,
}

/// A route that the origin offers.
struct Offer {
    /// [`Route::Origin`] if the alternative has the host and port of the origin.
    route: Route,
    until: Instant,
    persists: bool,
}

/// The time for which an alternative that failed isn't used, though it may be announced again meanwhile.
struct Pause {
    alternative: Alternative,
    until: Instant,
    /// How often it has failed since its last answer.
    failures: u32,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self(Recent::new())
    }

    /// Returns the route for a new request.
    pub(crate) fn route(&mut self, origin: &Origin, now: Instant) -> Route {
        let Some(entry) = self.0.get(origin) else { return Route::Origin };
        entry.offers.retain(|offer| offer.until > now);
        let usable = entry.offers.iter().find(|offer| !entry.is_paused(&offer.route, now));
        usable.map_or(Route::Origin, |offer| offer.route.clone())
    }

    /// Notes the field of a response of this age. Its alternatives replace all earlier ones of the origin
    /// (RFC 7838 §3.1).
    pub(crate) fn announce(&mut self, origin: &Origin, field: AltSvc, age: Duration, now: Instant) {
        let announced = match field {
            AltSvc::Clear => Vec::new(),
            AltSvc::Alternatives(announced) => announced,
        };
        let offers = announced.into_iter().filter_map(|announced| {
            let is_origin = announced.host.is_empty() || announced.host == origin.host;
            let route = if is_origin && announced.port == origin.port {
                Route::Origin
            } else {
                let host = if is_origin { origin.host.clone() } else { announced.host };
                let (protocol, port) = (announced.protocol, announced.port);
                Route::Alternative(Alternative { protocol, host, port })
            };
            let until = now + announced.max_age.checked_sub(age)?;
            Some(Offer { route, until, persists: announced.persists })
        });
        let offers: Vec<_> = offers.collect();
        if !offers.is_empty() {
            self.0.get_or_insert(origin, Entry::default).offers = offers;
        } else if let Some(entry) = self.0.get(origin) {
            entry.offers = offers;
            if entry.pauses.is_empty() {
                self.0.remove(origin);
            }
        }
    }

    /// Notes that an alternative failed; returns for how long it is left alone.
    pub(crate) fn failed(
        &mut self,
        origin: &Origin,
        alternative: &Alternative,
        now: Instant,
    ) -> Duration {
        let entry = self.0.get_or_insert(origin, Entry::default);
        // One outage, of which several requests report.
        let earlier = entry.pauses.iter().find(|pause| pause.alternative == *alternative);
        if let Some(pause) = earlier.filter(|pause| pause.until > now) {
            return pause.until - now;
        }
        let recent = earlier.filter(|pause| now - pause.until < LONGEST_PAUSE);
        let failures = recent.map_or(0, |pause| pause.failures);
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
        entry.pauses.retain(|pause| pause.alternative != *alternative);
        if entry.pauses.len() >= MAX_PAUSES {
            entry.pauses.remove(0);
        }
        let (alternative, until) = (alternative.clone(), now + pause);
        entry.pauses.push(Pause { alternative, until, failures: failures + 1 });
        pause
    }

    /// Notes that an alternative isn't authoritative for the origin. Until it is announced again it is
    /// unknown (RFC 7838 §6); and then it is left alone like one that failed.
    pub(crate) fn misdirected(&mut self, origin: &Origin, alternative: &Alternative, now: Instant) {
        self.failed(origin, alternative, now);
        let route = Route::Alternative(alternative.clone());
        if let Some(entry) = self.0.get(origin) {
            entry.offers.retain(|offer| offer.route != route);
        }
    }

    /// Notes that an alternative answered a request.
    pub(crate) fn answered(&mut self, origin: &Origin, alternative: &Alternative) {
        if let Some(entry) = self.0.get(origin) {
            entry.pauses.retain(|pause| pause.alternative != *alternative);
        }
    }

    /// Drops what may not hold in another network: alternatives without `persist` (RFC 7838 §2.2), and
    /// pauses.
    pub(crate) fn network_changed(&mut self) {
        self.0.retain(|entry| {
            entry.pauses.clear();
            entry.offers.retain(|offer| offer.persists);
            !entry.offers.is_empty()
        });
    }
}

impl Entry {
    fn is_paused(&self, route: &Route, now: Instant) -> bool {
        let Route::Alternative(alternative) = route else { return false };
        let mut pauses = self.pauses.iter();
        pauses.any(|pause| pause.until > now && pause.alternative == *alternative)
    }
}

/// A proxy that restarts is back by then.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// What a request may cost that finds an alternative dead is spent this often at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// As many as one field announces.
const MAX_PAUSES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alt_svc::parse;
    use crate::alternative::Protocol;

    struct World {
        cache: Cache,
        origin: Origin,
        start: Instant,
    }

    impl World {
        fn new() -> Self {
            let origin = Origin { host: "o.example".into(), port: 443 };
            Self { cache: Cache::new(), origin, start: Instant::now() }
        }

        /// A response with this field at this second.
        fn announce(&mut self, field: &str, age: u64, second: u64) {
            let field = parse([field.as_bytes()].into_iter()).unwrap();
            let (age, now) = (Duration::from_secs(age), self.at(second));
            self.cache.announce(&self.origin, field, age, now);
        }

        /// The host to which a request at this second goes; empty for the origin.
        fn host(&mut self, second: u64) -> String {
            let now = self.at(second);
            match self.cache.route(&self.origin, now) {
                Route::Origin => String::new(),
                Route::Alternative(alternative) => alternative.host,
            }
        }

        fn fail(&mut self, alternative: &Alternative, second: u64) -> u64 {
            let now = self.at(second);
            self.cache.failed(&self.origin, alternative, now).as_secs()
        }

        fn at(&self, second: u64) -> Instant {
            self.start + Duration::from_secs(second)
        }
    }

    fn alternative(host: &str) -> Alternative {
        Alternative { protocol: Protocol::Http2, host: host.into(), port: 443 }
    }

    #[test]
    fn an_alternative_is_used_until_it_is_stale() {
        let mut world = World::new();
        assert_eq!(world.host(0), "");
        world.announce("h2=\"b:443\"; ma=60", 0, 0);
        assert_eq!([0, 59, 60].map(|second| world.host(second)), ["b", "b", ""]);
        // RFC 7838 §3.1: from when the response was generated.
        world.announce("h2=\"b:443\"; ma=60", 30, 100);
        assert_eq!([129, 130].map(|second| world.host(second)), ["b", ""]);
        world.announce("h2=\"b:443\"; ma=60", 61, 200);
        assert_eq!(world.host(200), "");
        world.announce("h2=\"b:443\"", 0, 300);
        assert_eq!([86_699, 86_700].map(|second| world.host(second)), ["b", ""]);
    }

    #[test]
    fn a_field_replaces_all_earlier_alternatives_of_its_origin_alone() {
        let mut world = World::new();
        world.announce("h2=\"b:443\", h2=\"c:443\"", 0, 0);
        let other = Origin { host: "other.example".into(), port: 443 };
        let first = std::mem::replace(&mut world.origin, other.clone());
        world.announce("h2=\"x:443\"", 0, 0);
        world.origin = first;
        world.announce("h2=\"c:443\"; ma=5", 0, 1);
        assert_eq!([1, 6].map(|second| world.host(second)), ["c", ""]);
        for field in ["clear", "h3=\":443\"", "h2=\"d:443\"; ma=0"] {
            world.announce("h2=\"b:443\"", 0, 10);
            world.announce(field, 0, 11);
            assert_eq!(world.host(11), "", "{field}");
        }
        world.origin = other;
        assert_eq!(world.host(11), "x");
    }

    #[test]
    fn the_first_alternative_that_did_not_fail_is_used() {
        let mut world = World::new();
        world.announce("h2=\"b:443\", h2=\"c:443\"", 0, 0);
        assert_eq!(world.host(0), "b");
        world.fail(&alternative("b"), 0);
        assert_eq!([0, 5].map(|second| world.host(second)), ["c", "b"]);
        // The origin itself, by its own name or by none.
        for field in ["h2=\":443\", h2=\"b:443\"", "h2=\"O.Example:443\", h2=\"b:443\""] {
            world.announce(field, 0, 10);
            assert_eq!(world.host(10), "");
        }
        world.announce("h2=\":444\"", 0, 10);
        assert_eq!(world.host(10), "o.example");
    }

    #[test]
    fn pauses_grow_with_each_failure_until_an_answer() {
        let mut world = World::new();
        let (b, mut now, mut pauses) = (alternative("b"), 0, Vec::new());
        for _ in 0..9 {
            world.announce("h2=\"b:443\"", 0, now);
            let pause = world.fail(&b, now);
            // Others that waited for the same connection.
            assert_eq!(world.fail(&b, now + 1), pause - 1);
            // A new announcement changes nothing.
            world.announce("h2=\"b:443\"", 0, now + 1);
            let until = now + pause;
            assert_eq!([until - 1, until].map(|second| world.host(second)), ["", "b"]);
            pauses.push(pause);
            now += pause;
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        world.cache.answered(&world.origin.clone(), &b);
        assert_eq!(world.fail(&b, now), 5);
        // A failure of long ago doesn't count.
        world.fail(&b, now + 5);
        assert_eq!(world.fail(&b, now + 400), 5);
    }

    #[test]
    fn a_misdirected_alternative_is_unknown_and_paused() {
        let mut world = World::new();
        world.announce("h2=\"b:443\"", 0, 0);
        let (origin, now) = (world.origin.clone(), world.at(0));
        world.cache.misdirected(&origin, &alternative("b"), now);
        assert_eq!([0, 100].map(|second| world.host(second)), ["", ""]);
        world.announce("h2=\"b:443\"", 0, 1);
        assert_eq!([1, 5].map(|second| world.host(second)), ["", "b"]);
    }

    #[test]
    fn only_persistent_alternatives_outlive_a_change_of_the_network() {
        let mut world = World::new();
        world.announce("h2=\"b:443\", h2=\"c:443\"; persist=1", 0, 0);
        world.fail(&alternative("c"), 0);
        world.cache.network_changed();
        assert_eq!(world.host(0), "c");
        world.announce("h2=\"b:443\"; persist=0", 0, 0);
        world.cache.network_changed();
        assert_eq!(world.host(0), "");
    }

    #[test]
    fn pauses_are_bounded() {
        let mut world = World::new();
        for number in 0..100 {
            world.fail(&alternative(&format!("{number}")), 0);
        }
        let origin = world.origin.clone();
        assert_eq!(world.cache.0.get(&origin).unwrap().pauses.len(), MAX_PAUSES);
    }
}
