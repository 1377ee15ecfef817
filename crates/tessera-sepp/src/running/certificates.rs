//! When certificates end, and who is told in time.

use std::collections::HashMap;
use std::time::Duration;

use tessera_proxy::admin::Condition;
use tessera_proxy::logging::tracing;

use crate::config::Configuration;
use crate::metrics::{Certificate, Metrics};
use crate::n32c::{Associations, State};
use crate::tls::CertificateAge;

/// How often it is looked.
pub(super) const EVERY: Duration = Duration::from_secs(3600);

/// When it is told, in days before the end: once each.
const DAYS: [u64; 3] = [30, 14, 7];

/// What was told already.
#[derive(Default)]
pub(super) struct CertificateAges {
    told: HashMap<String, Told>,
}

/// Of one certificate: when it ends, and the fewest days at which it was told.
type Told = (u64, u64);

impl CertificateAges {
    /// Sets the metrics, and warns of certificates that end soon. The own one has to be valid.
    pub(super) fn look(
        &mut self,
        configuration: &Configuration,
        ages: &[CertificateAge],
        associations: &Associations,
        metrics: &Metrics,
        valid: &Condition,
        unix: u64,
    ) {
        for age in ages {
            match &age.anchor {
                None => {
                    metrics.certificate("", Certificate::Own, age.expires_at);
                    self.warn("this SEPP's certificate", age.expires_at, unix);
                    if age.expires_at > unix {
                        valid.holds();
                    } else {
                        valid.fails("this SEPP's certificate has ended");
                    }
                }
                Some(anchor) => {
                    for peer in configuration.peer.values().filter(|peer| peer.anchor == *anchor) {
                        let name = peer.fqdn.as_str();
                        metrics.certificate(name, Certificate::Root, age.expires_at);
                    }
                    self.warn(&format!("a root of [trust.{anchor}]"), age.expires_at, unix);
                }
            }
        }
        for peer in associations.peers() {
            if let State::Established(association) = &peer.state {
                let expires_at = association.certificate.expires_at;
                metrics.certificate(peer.fqdn.as_str(), Certificate::Leaf, expires_at);
                self.warn(&format!("the certificate of {}", peer.fqdn), expires_at, unix);
            }
        }
    }

    fn warn(&mut self, whose: &str, expires_at: u64, unix: u64) {
        if let Some(days) = self.due(whose, expires_at, unix) {
            match days {
                0 => tracing::error!(not_after = expires_at, "{whose} has ended"),
                1 => tracing::warn!(not_after = expires_at, "{whose} ends within a day"),
                days => tracing::warn!(not_after = expires_at, "{whose} ends within {days} days"),
            }
        }
    }

    /// The days that are left, rounded up, if they are to be told now.
    fn due(&mut self, whose: &str, expires_at: u64, unix: u64) -> Option<u64> {
        let days = expires_at.saturating_sub(unix).div_ceil(86_400);
        let step = if days == 0 { 0 } else { DAYS.into_iter().rev().find(|step| days <= *step)? };
        let told = self.told.get(whose).filter(|(of, _)| *of == expires_at);
        if told.is_some_and(|(_, at)| *at <= step) {
            return None;
        }
        self.told.insert(whose.to_owned(), (expires_at, step));
        Some(days)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_at_thirty_fourteen_and_seven_days_and_when_it_is_there() {
        let (mut ages, day, end) = (CertificateAges::default(), 86_400, 100 * 86_400);
        let mut told = Vec::new();
        for now in 60..=101 {
            told.extend(ages.due("it", end, now * day));
        }
        assert_eq!(told, [30, 14, 7, 0]);
        // Another certificate in its place.
        assert_eq!(ages.due("it", end + 20 * day, 101 * day), Some(19));
        assert_eq!(ages.due("it", end + 20 * day, 101 * day), None);
        assert_eq!(ages.due("it", end + 900 * day, 101 * day), None);
    }
}
