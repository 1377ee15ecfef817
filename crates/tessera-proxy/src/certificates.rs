//! Expiry of certificates, and warnings in time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::registry::Unit;
use tessera_kit::clock;

use crate::admin::{Families, Gauges, Labels};
use crate::logging::tracing;

/// How often to check.
pub const LOOK_EVERY: Duration = Duration::from_secs(3600);

/// Days before the end at which to warn, once each.
const DAYS: [u64; 3] = [30, 14, 7];

/// Returns the days left, rounded up: 0 only after the end. Both times are seconds since the Unix epoch.
#[must_use]
pub fn days_left(expires_at: u64, unix: u64) -> u64 {
    expires_at.saturating_sub(unix).div_ceil(86_400)
}

crate::label! {
    /// Which certificate it is.
    CertificateKind: "cert" {
        /// The process's own, with its chain.
        Own = "own",
        /// The SEPP's for local network functions.
        Sbi = "sbi",
        /// The peer's latest.
        Leaf = "leaf",
        /// The first to expire of the roots that verify peers.
        Root = "root",
    }
}

/// The expiry of a certificate; of several in a file, the earliest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateEnd {
    /// The name in warnings, unique among certificates.
    pub whose: String,
    /// In seconds since the Unix epoch.
    pub expires_at: u64,
    /// The series that expose it.
    pub series: Vec<Labels>,
}

impl CertificateEnd {
    /// Returns the warning for a certificate that ends within a month or has ended.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        self.warning_at(clock::unix().as_secs())
    }

    fn warning_at(&self, unix: u64) -> Option<String> {
        let days = days_left(self.expires_at, unix);
        DAYS.iter().any(|step| days <= *step).then(|| sentence(&self.whose, days))
    }
}

/// `PREFIX_cert_not_after_seconds`: when certificates expire. Clones share the same series.
#[derive(Debug, Clone)]
pub struct CertificateGauges {
    gauges: Gauges,
    exposed: Arc<Mutex<Vec<Labels>>>,
}

impl CertificateGauges {
    /// Registers the metric.
    pub fn register(families: &Families<'_>) -> Self {
        let help = "When certificates expire, since the Unix epoch";
        let gauges = families.of_unit("cert_not_after", help, Unit::Seconds, Gauges::default());
        Self { gauges, exposed: Arc::default() }
    }

    /// Exposes the series of these certificates, and removes all others.
    pub fn replace(&self, ends: &[CertificateEnd]) {
        let mut exposed = self.exposed.lock().unwrap_or_else(PoisonError::into_inner);
        for series in exposed.drain(..) {
            if ends.iter().all(|end| !end.series.contains(&series)) {
                self.gauges.remove(&series);
            }
        }
        for end in ends {
            let expires_at = i64::try_from(end.expires_at).unwrap_or(i64::MAX);
            for series in &end.series {
                self.gauges.get_or_create_owned(series).set(expires_at);
            }
            exposed.extend_from_slice(&end.series);
        }
    }
}

fn sentence(whose: &str, days: u64) -> String {
    match days {
        0 => format!("{whose} has expired"),
        1 => format!("{whose} expires within a day"),
        days => format!("{whose} expires within {days} days"),
    }
}

/// Warns of certificates that end soon, once at each step.
#[derive(Debug, Default)]
pub struct ExpiryWarnings {
    /// For each certificate: its expiry, and the fewest days at which it was warned of.
    given: HashMap<String, (u64, u64)>,
}

impl ExpiryWarnings {
    /// Logs the warnings that are due.
    pub fn look(&mut self, ends: &[CertificateEnd]) {
        let unix = clock::unix().as_secs();
        for CertificateEnd { whose, expires_at, .. } in ends {
            let Some(days) = self.due(whose, *expires_at, unix) else { continue };
            let what = sentence(whose, days);
            match days {
                0 => tracing::error!(not_after = expires_at, "{what}"),
                _ => tracing::warn!(not_after = expires_at, "{what}"),
            }
        }
    }

    /// Returns the days left, if a warning is due now.
    fn due(&mut self, whose: &str, expires_at: u64, unix: u64) -> Option<u64> {
        let days = days_left(expires_at, unix);
        let step = if days == 0 { 0 } else { DAYS.into_iter().rev().find(|step| days <= *step)? };
        let given = self.given.get(whose).filter(|(of, _)| *of == expires_at);
        if given.is_some_and(|(_, at)| *at <= step) {
            return None;
        }
        self.given.insert(whose.to_owned(), (expires_at, step));
        Some(days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    #[test]
    fn a_warning_comes_at_thirty_fourteen_and_seven_days_and_at_the_end() {
        let (mut warnings, end) = (ExpiryWarnings::default(), 100 * DAY);
        let mut given = Vec::new();
        for now in 60..=101 {
            given.extend(warnings.due("it", end, now * DAY));
        }
        assert_eq!(given, [30, 14, 7, 0]);
        // Another certificate in its place.
        assert_eq!(warnings.due("it", end + 20 * DAY, 101 * DAY), Some(19));
        assert_eq!(warnings.due("it", end + 20 * DAY, 101 * DAY), None);
        assert_eq!(warnings.due("it", end + 900 * DAY, 101 * DAY), None);
    }

    #[test]
    fn a_certificate_has_no_days_left_only_after_its_end() {
        let left =
            [DAY, DAY + 1, 2 * DAY - 1, 2 * DAY, 2 * DAY + 1].map(|now| days_left(2 * DAY, now));
        assert_eq!(left, [1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_check_warns_within_a_month() {
        let at = |expires_at| {
            let end = CertificateEnd { whose: "it".to_owned(), expires_at, series: Vec::new() };
            end.warning_at(100 * DAY)
        };
        assert_eq!(at(130 * DAY + 1), None);
        assert_eq!(at(130 * DAY).as_deref(), Some("it expires within 30 days"));
        assert_eq!(at(101 * DAY).as_deref(), Some("it expires within a day"));
        assert_eq!(at(100 * DAY).as_deref(), Some("it has expired"));
    }
}
