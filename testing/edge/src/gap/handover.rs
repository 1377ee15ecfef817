//! A handover, made of what the client and the services know of each request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera_edge_tests::{Execution, Visit};

/// A handover.
pub(crate) struct Handover {
    /// From the end of the response that announces the next proxy to the beginning of the first request that is executed
    /// there; `None`: none was.
    pub(crate) gap: Option<Duration>,
    /// The longest time without an answer after the announcement, from the request that should have had one.
    pub(crate) longest: Duration,
    /// The usual time until an answer: the median before.
    pub(crate) usual: Duration,
    /// How many requests were sent.
    pub(crate) requests: usize,
    /// How many of them were not answered by 200.
    pub(crate) failed: usize,
    /// How many were executed again.
    pub(crate) doubled: usize,
    /// Whether the first connection to the next proxy resumed a session.
    pub(crate) resumed: Option<bool>,
    /// Whether the first request there was early data. Only our clients report it.
    pub(crate) early: Option<bool>,
}

impl Handover {
    /// Puts together what is known; `None` if no response has announced the proxy of this address.
    ///
    /// # Panics
    /// If the clocks of client and services differ: a request was executed before it was sent, or after its answer.
    pub(crate) fn of(visits: &[Visit], executed: &[Execution], next: &str) -> Option<Self> {
        for visit in visits.iter().filter(|it| it.status == 200) {
            let ending = format!("-{}", visit.number);
            let when =
                executed.iter().find(|it| it.path.ends_with(&ending)).map(|it| since(it.when));
            let is_between =
                |when| (visit.sent..=visit.answered + 2 * ROUNDING).contains(&(when + ROUNDING));
            assert!(when.is_none_or(is_between), "{when:?} isn't in the time of {visit:?}");
        }
        let announced = visits.iter().position(|it| it.status == 200 && it.announced == next)?;
        let there = executed.iter().filter(|it| it.at == "b").map(|it| since(it.when)).min();
        let gap = there.map(|there| there.saturating_sub(visits[announced].answered));
        let mut before: Vec<_> = visits[..announced].iter().skip(1).map(took).collect();
        before.sort();
        let mut longest = Duration::ZERO;
        // When the client first sent what is answered next.
        let mut waiting = None;
        for visit in &visits[announced + 1..] {
            let since = *waiting.get_or_insert(visit.sent);
            if visit.status == 200 {
                longest = longest.max(visit.answered.saturating_sub(since));
                waiting = None;
            }
        }
        let mut paths: Vec<_> = executed.iter().map(|it| &it.path).collect();
        paths.sort();
        paths.dedup();
        Some(Self {
            gap,
            longest,
            usual: before.get(before.len() / 2).copied().unwrap_or_default(),
            requests: visits.len(),
            failed: visits.iter().filter(|it| it.status != 200).count(),
            doubled: executed.len() - paths.len(),
            resumed: None,
            early: None,
        })
    }
}

/// How exact the clocks of browsers are.
const ROUNDING: Duration = Duration::from_millis(1);

fn took(visit: &Visit) -> Duration {
    visit.answered.saturating_sub(visit.sent)
}

fn since(moment: SystemTime) -> Duration {
    moment.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(number: u64, sent: u64, answered: u64, status: u16, announced: &str) -> Visit {
        let [sent, answered] = [sent, answered].map(Duration::from_millis);
        Visit { number, sent, answered, status, at: String::new(), announced: announced.into() }
    }

    fn execution(at: &'static str, number: u64, when: u64) -> Execution {
        let when = UNIX_EPOCH + Duration::from_millis(when);
        Execution { at, client: String::new(), path: format!("/cart/x-{number}"), when }
    }

    #[test]
    fn a_gap_ends_with_the_first_execution_at_the_next_proxy() {
        let visits = [
            visit(0, 0, 90, 200, "a"),
            visit(1, 100, 130, 200, "a"),
            visit(2, 200, 230, 200, "a"),
            visit(3, 300, 330, 200, "b"),
            visit(4, 331, 340, 0, "b"),
            visit(5, 345, 420, 200, "b"),
            visit(6, 520, 550, 200, "b"),
        ];
        let executed = [execution("a", 3, 310), execution("b", 6, 530), execution("b", 5, 405)];
        let it = Handover::of(&visits, &executed, "b").unwrap();
        let millis = Duration::from_millis;
        assert_eq!(it.gap, Some(millis(75)));
        // Since the request that failed.
        assert_eq!((it.longest, it.usual), (millis(89), millis(30)));
        assert_eq!((it.requests, it.failed, it.doubled), (7, 1, 0));
        let again = [executed[1].clone(), executed[1].clone()];
        assert_eq!(Handover::of(&visits, &again, "b").unwrap().doubled, 1);
        let early = [execution("a", 3, 290)];
        let differ = std::panic::catch_unwind(|| Handover::of(&visits, &early, "b"));
        assert!(differ.is_err(), "it was executed before it was sent");
        assert!(Handover::of(&visits[..3], &executed, "b").is_none());
        assert_eq!(Handover::of(&visits, &executed[..1], "b").unwrap().gap, None);
    }
}
