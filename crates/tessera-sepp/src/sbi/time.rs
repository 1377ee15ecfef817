//! How long a request may take: `3gpp-Sbi-Max-Rsp-Time`, counted from `3gpp-Sbi-Sender-Timestamp`.

use std::fmt;
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::headers::{MAX_RSP_TIME, SENDER_TIMESTAMP};

/// Returns the remaining time of a request: what its client allows, less the time since it was sent, and never more
/// than `limit` (TS 29.500 §6.11.2.2). An unreadable header has no effect.
///
/// # Errors
/// If its client no longer waits.
pub fn left(
    headers: &HeaderMap,
    limit: Duration,
    now: impl FnOnce() -> SystemTime,
) -> Result<Duration, TimedOut> {
    let Some(waits) = max_rsp_time(headers) else { return Ok(limit) };
    // No client waits that long: a more distant time means that the clocks differ.
    let is_plausible = |passed: &Duration| *passed <= LONGEST;
    let passed = sent_at(headers)
        .and_then(|sent| now().duration_since(sent).ok())
        .filter(is_plausible)
        .unwrap_or_default();
    match waits.checked_sub(passed) {
        None | Some(Duration::ZERO) => Err(TimedOut),
        Some(left) => Ok(left.min(limit)),
    }
}

/// Five digits of milliseconds (TS 29.500 §5.2.3.3.3).
const LONGEST: Duration = Duration::from_millis(99_999);

fn max_rsp_time(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(MAX_RSP_TIME)?.to_str().ok()?.trim();
    let are_digits =
        (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok()).flatten().map(Duration::from_millis)
}

/// Reads `Sat, 21 Nov 2026 01:44:47.553 GMT` (TS 29.500 §5.2.3.3.2): an HTTP date with milliseconds.
fn sent_at(headers: &HeaderMap) -> Option<SystemTime> {
    let text = headers.get(SENDER_TIMESTAMP)?.to_str().ok()?.trim();
    let (seconds, rest) = text.split_once('.')?;
    let millis = rest.strip_suffix(" GMT")?;
    let are_digits = millis.len() == 3 && millis.bytes().all(|byte| byte.is_ascii_digit());
    let millis = are_digits.then(|| millis.parse().ok()).flatten()?;
    let whole = httpdate::parse_http_date(&format!("{seconds} GMT")).ok()?;
    whole.checked_add(Duration::from_millis(millis))
}

/// The client no longer waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time of 3gpp-Sbi-Max-Rsp-Time has passed")
    }
}

impl std::error::Error for TimedOut {}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const LIMIT: Duration = Duration::from_secs(10);

    /// Returns what is left when the clock is this long after the header's time.
    fn left_after(waits: &'static str, sent: &'static str, millis: i64) -> Result<u128, TimedOut> {
        let field = |name: HeaderName, value| (name, HeaderValue::from_static(value));
        let headers =
            HeaderMap::from_iter([field(MAX_RSP_TIME, waits), field(SENDER_TIMESTAMP, sent)]);
        let base = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_553);
        let by = Duration::from_millis(millis.unsigned_abs());
        let now = if millis < 0 { base - by } else { base + by };
        left(&headers, LIMIT, || now).map(|left| left.as_millis())
    }

    const SENT: &str = "Sun, 06 Nov 1994 08:49:37.553 GMT";

    #[test]
    fn the_time_counts_from_the_sender_and_never_beyond_the_limit() {
        assert_eq!(left_after("5000", SENT, 1200), Ok(3800));
        assert_eq!(left_after("99999", SENT, 0), Ok(10_000));
        assert_eq!(left_after("5000", SENT, 5000), Err(TimedOut));
        assert_eq!(left_after("5000", SENT, 6000), Err(TimedOut));
        assert_eq!(left_after("0", SENT, 0), Err(TimedOut));
    }

    #[test]
    fn a_clock_that_differs_takes_nothing_away() {
        assert_eq!(left_after("5000", SENT, -3000), Ok(5000));
        assert_eq!(left_after("5000", SENT, 3_600_000), Ok(5000));
    }

    #[test]
    fn an_unreadable_time_changes_nothing() {
        for waits in ["", "x", "-1", "100000", "5 s"] {
            assert_eq!(left_after(waits, SENT, 0), Ok(10_000), "{waits}");
        }
        for sent in ["", "now", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37.5 GMT"]
        {
            assert_eq!(left_after("5000", sent, 1000), Ok(5000), "{sent}");
        }
        assert_eq!(left(&HeaderMap::new(), LIMIT, SystemTime::now), Ok(LIMIT));
    }
}
