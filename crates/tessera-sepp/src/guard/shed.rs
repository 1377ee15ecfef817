//! Load shedding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::HeaderMap;

use super::{Refusal, Rule};

/// Counts requests in progress and refuses those of low priority under load: below three quarters of the limit all
/// pass, above that fewer and fewer priorities (TS 29.500 §6.8.4), at the limit none.
#[derive(Debug, Clone)]
pub struct LoadShed {
    under_way: Arc<AtomicU32>,
    limit: u32,
}

/// A request in progress, until it is dropped.
#[derive(Debug)]
pub struct InFlightRequest(Arc<AtomicU32>);

/// `3gpp-Sbi-Message-Priority` (TS 29.500 §5.2.3.2.2): 0 is the most important, 31 the least.
const PRIORITY: &str = "3gpp-sbi-message-priority";

/// The priority of a message without a valid one: in the lower half (TS 29.500 §6.8.3 leaves it to the operator).
const WITHOUT: u32 = 24;

const LEAST: u32 = 31;

impl LoadShed {
    /// Allows this number of requests at once.
    pub fn new(limit: u32) -> Self {
        Self { under_way: Arc::default(), limit }
    }

    /// Admits a request if its priority is high enough for the current load. `relief` is the time that refused clients
    /// should wait.
    ///
    /// # Errors
    /// If it isn't: 503, with `retry-after`.
    pub fn admit(&self, headers: &HeaderMap, relief: Duration) -> Result<InFlightRequest, Refusal> {
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed);
        let permit = InFlightRequest(Arc::clone(&self.under_way));
        let free_for_all = self.limit - self.limit / 4;
        if under_way < free_for_all {
            return Ok(permit);
        }
        let priority = priority(headers);
        // The last quarter is divided among the priorities: the lowest gets none of it, the highest all.
        let share = u64::from(self.limit - free_for_all) * u64::from(LEAST - priority);
        let allowed = u64::from(free_for_all) + share.div_ceil(u64::from(LEAST));
        if u64::from(under_way) < allowed {
            return Ok(permit);
        }
        let refusal = Refusal::new(Rule::Load, PRIORITY, &priority.to_string());
        Err(Refusal { retry_after: Some(relief), ..refusal })
    }

    /// Returns the number of requests in progress.
    pub fn under_way(&self) -> u32 {
        self.under_way.load(Ordering::Relaxed)
    }
}

impl Refusal {
    /// Refuses a peer that has its full share of requests in progress: 503, with `retry-after`.
    pub(crate) fn share(relief: Duration) -> Self {
        Self { retry_after: Some(relief), ..Self::new(Rule::Load, "request", "the peer's share") }
    }
}

fn priority(headers: &HeaderMap) -> u32 {
    let text = headers.get(PRIORITY).and_then(|value| value.to_str().ok());
    let number = text.and_then(|text| text.trim().parse().ok());
    number.filter(|number| *number <= LEAST).unwrap_or(WITHOUT)
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(priority: &str) -> HeaderMap {
        [(http::HeaderName::from_static(PRIORITY), priority.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn the_less_important_wait_first() {
        let shed = LoadShed::new(100);
        let second = Duration::from_secs(1);
        let admit = |priority: &str| shed.admit(&of(priority), second);
        let mut passed = Vec::new();
        let mut fill = |priority: &str| {
            passed.extend(std::iter::from_fn(|| admit(priority).ok()));
            passed.len()
        };
        let of_each = ["31", "24", "none", "10", "0"].map(&mut fill);
        assert_eq!(of_each, [75, 81, 81, 92, 100]);
        let refusal = admit("0").unwrap_err();
        assert_eq!((refusal.status.as_u16(), refusal.retry_after), (503, Some(second)));
        assert_eq!(shed.under_way(), 100, "refused requests are not counted");
        drop(passed);
        assert_eq!(shed.under_way(), 0);
        assert_eq!(Refusal::share(second).retry_after, Some(second));
    }

    #[test]
    fn a_bad_priority_is_none() {
        for text in ["-1", "32", "", "x", "4294967296"] {
            assert_eq!(priority(&of(text)), WITHOUT, "{text}");
        }
        assert_eq!(priority(&of(" 7 ")), 7);
    }
}
