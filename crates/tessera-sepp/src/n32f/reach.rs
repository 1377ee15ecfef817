//! Whether N32-f to a peer can be reached: independent of the association, which stays established while the peer's
//! SEPP is down.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// What is known about the path to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reach {
    /// Nothing yet, or there is no association.
    #[default]
    Unknown,
    /// A connection is open, or the last one could be opened.
    Reachable,
    /// The last connection could not be opened.
    Unreachable {
        /// The reason.
        reason: Arc<str>,
    },
}

impl Reach {
    /// Returns its name in `/peers` and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Reachable => "reachable",
            Self::Unreachable { .. } => "unreachable",
        }
    }
}

/// The path to one peer, over time.
#[derive(Debug)]
pub struct Reachability {
    reach: Reach,
    since: Instant,
    /// Since when no connection has been open, or the time of the last probe.
    quiet_since: Option<Instant>,
    is_probing: bool,
}

/// How long a reachable peer may be without a connection before it is probed: a request in between opens one itself,
/// with early data where allowed.
const QUIET: Duration = Duration::from_secs(7);

/// How long to wait after an association began.
const BEGINNING: Duration = Duration::from_secs(4);

/// How long to wait before probing an unreachable peer again.
const AGAIN: Duration = Duration::from_secs(1);

impl Reachability {
    /// Starts with nothing known.
    pub fn new(now: Instant) -> Self {
        Self { reach: Reach::Unknown, since: now, quiet_since: None, is_probing: false }
    }

    /// Returns what is known.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Returns since when.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Records what is known now; returns whether the state has changed.
    pub fn set(&mut self, reach: Reach, now: Instant) -> bool {
        if reach == Reach::Reachable {
            self.quiet_since = None;
        }
        let has_changed = self.reach.as_str() != reach.as_str();
        if has_changed {
            self.since = now;
        }
        self.reach = reach;
        has_changed
    }

    /// Returns whether a probe is due, and marks it as begun. Call it while no connection is open.
    pub fn begin_probe(&mut self, now: Instant) -> bool {
        let quiet_since = *self.quiet_since.get_or_insert(now);
        let pause = match self.reach {
            Reach::Reachable => QUIET,
            Reach::Unreachable { .. } => AGAIN,
            Reach::Unknown => BEGINNING,
        };
        let begins = !self.is_probing && now - quiet_since >= pause;
        self.is_probing |= begins;
        begins
    }

    /// Records the end of a probe.
    pub fn end_probe(&mut self, now: Instant) {
        self.is_probing = false;
        self.quiet_since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(reason: &str) -> Reach {
        Reach::Unreachable { reason: reason.into() }
    }

    #[test]
    fn only_another_state_is_a_change() {
        let start = Instant::now();
        let mut way = Reachability::new(start);
        let later = start + Duration::from_secs(7);
        assert!(way.set(Reach::Reachable, later) && !way.set(Reach::Reachable, later + QUIET));
        assert_eq!(way.since(), later);
        assert!(way.set(unreachable("refused"), later));
        assert!(!way.set(unreachable("timed out"), later), "another reason is the same state");
        assert_eq!(way.reach(), &unreachable("timed out"));
    }

    #[test]
    fn a_lost_way_is_probed_soon_and_one_probe_at_a_time() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut way = Reachability::new(start);
        assert!(!way.begin_probe(at(0.0)) && !way.begin_probe(at(3.9)));
        assert!(way.begin_probe(at(4.0)), "of which nothing is known");
        assert!(!way.begin_probe(at(60.0)), "one is under way");
        way.end_probe(at(61.0));
        way.set(Reach::Reachable, at(61.0));
        assert!(!way.begin_probe(at(67.0)) && !way.begin_probe(at(73.9)), "a request may come");
        assert!(way.begin_probe(at(74.0)));
        way.end_probe(at(74.0));
        way.set(unreachable("refused"), at(74.0));
        assert!(!way.begin_probe(at(74.9)));
        assert!(way.begin_probe(at(75.0)));
    }
}
