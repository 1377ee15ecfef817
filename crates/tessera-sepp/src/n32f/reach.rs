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
    /// The probes that reached the peer since a connection was last open.
    visits: u32,
    is_probing: bool,
}

/// How to probe a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// The connection stays for requests: the peer is new, or was unreachable.
    Keep,
    /// The connection ends again: the last one ended because it was idle, for all that is known.
    Visit,
}

/// How long a reachable peer may be without a connection before it is probed: a request in between opens one itself,
/// with early data where allowed. Doubles with each visit up to [`LONGEST_QUIET`], so that peers without requests cost
/// next to nothing.
const QUIET: Duration = Duration::from_secs(7);
const LONGEST_QUIET: Duration = Duration::from_secs(15 * 60);

/// How long to wait after an association began.
const BEGINNING: Duration = Duration::from_secs(4);

/// How long to wait before probing an unreachable peer again.
const AGAIN: Duration = Duration::from_secs(1);

impl Reachability {
    /// Starts with nothing known.
    pub fn new(now: Instant) -> Self {
        Self { reach: Reach::Unknown, since: now, quiet_since: None, visits: 0, is_probing: false }
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
        if reach == Reach::Reachable && !self.is_probing {
            (self.quiet_since, self.visits) = (None, 0);
        }
        let has_changed = self.reach.as_str() != reach.as_str();
        if has_changed {
            self.since = now;
        }
        self.reach = reach;
        has_changed
    }

    /// Returns which probe is due, and marks it as begun. Call it while no connection is open.
    pub fn begin_probe(&mut self, now: Instant) -> Option<Probe> {
        let quiet_since = *self.quiet_since.get_or_insert(now);
        let (probe, pause) = match self.reach {
            Reach::Reachable => {
                let pause = QUIET.saturating_mul(1 << self.visits.min(16));
                (Probe::Visit, pause.min(LONGEST_QUIET))
            }
            Reach::Unreachable { .. } => (Probe::Keep, AGAIN),
            Reach::Unknown => (Probe::Keep, BEGINNING),
        };
        let begins = !self.is_probing && now - quiet_since >= pause;
        self.is_probing |= begins;
        begins.then_some(probe)
    }

    /// Records the end of a probe, after what it found.
    pub fn end_probe(&mut self, now: Instant) {
        self.is_probing = false;
        self.quiet_since = Some(now);
        self.visits = if self.reach == Reach::Reachable { self.visits + 1 } else { 0 };
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
        let begin = |way: &mut Reachability, seconds| way.begin_probe(at(seconds));
        assert_eq!((begin(&mut way, 0.0), begin(&mut way, 3.9)), (None, None));
        assert_eq!(begin(&mut way, 4.0), Some(Probe::Keep), "of which nothing is known");
        assert_eq!(begin(&mut way, 60.0), None, "one is under way");
        way.set(Reach::Reachable, at(61.0));
        way.end_probe(at(61.0));
        // Its connection ends.
        way.set(Reach::Reachable, at(66.0));
        assert_eq!(begin(&mut way, 67.0), None);
        assert_eq!(begin(&mut way, 73.9), None, "a request may come");
        assert_eq!(begin(&mut way, 74.0), Some(Probe::Visit));
        way.set(unreachable("refused"), at(74.0));
        way.end_probe(at(74.0));
        assert_eq!(begin(&mut way, 74.9), None);
        assert_eq!(begin(&mut way, 75.0), Some(Probe::Keep));
    }

    #[test]
    fn a_reachable_peer_without_requests_is_visited_ever_more_rarely() {
        let mut now = Instant::now();
        let mut way = Reachability::new(now);
        way.set(Reach::Reachable, now);
        let mut pauses = Vec::new();
        let visit = |way: &mut Reachability, now: &mut Instant| {
            let quiet_since = *now;
            while way.begin_probe(*now).is_none() {
                *now += Duration::from_secs(1);
            }
            // The connection of a visit is seen while it is open.
            way.set(Reach::Reachable, *now);
            way.end_probe(*now);
            (*now - quiet_since).as_secs()
        };
        pauses.extend((0..9).map(|_| visit(&mut way, &mut now)));
        assert_eq!(pauses, [7, 14, 28, 56, 112, 224, 448, 896, 900]);
        // A request comes: its connection ends much later.
        way.set(Reach::Reachable, now);
        assert_eq!(visit(&mut way, &mut now), 7);
    }
}
