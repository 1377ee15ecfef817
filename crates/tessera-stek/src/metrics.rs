//! Metrics of a sidecar.

use std::time::Duration;

use tessera_proxy::admin::{Counters, Families, Gauges, Label, Metrics};
use tessera_ring::RingStatus;

tessera_proxy::label! {
    /// What became of a ticket that a canary offered.
    CanaryResult: "result" {
        /// The session was resumed.
        Resumed = "resumed",
        /// The session was resumed, but the servers chose different groups for the key exchange.
        OtherGroup = "other-group",
        /// The server made a full handshake.
        Full = "full",
        /// The handshake failed.
        Failed = "failed",
    }
}

impl CanaryResult {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Resumed => "it was resumed",
            Self::OtherGroup => {
                "it was resumed, but the servers chose different groups: give them the same groups in the same order"
            }
            Self::Full => {
                "the server made a full handshake, so it lacks the key, or differs in its certificate"
            }
            Self::Failed => "the handshake failed",
        }
    }
}

/// The metrics, by the conventions of Prometheus.
///
/// | metric | labels | value |
/// |---|---|---|
/// | `tessera_stek_in_step` | `server` | 1 while the server holds what the ring wants, else 0 |
/// | `tessera_stek_waiting_for` | | live members that don't hold the next key |
/// | `tessera_stek_members` | | live members |
/// | `tessera_stek_epoch` | | epoch of the issuing key |
/// | `tessera_stek_store_age_seconds` | | since the store was last read; -1: never |
/// | `tessera_stek_issues_for_seconds` | | how long the issuing key may seal; 0: none may |
/// | `tessera_stek_canaries_total` | `from`, `to`, `result`: [`CanaryResult`] | tickets of one server that were offered to another |
#[derive(Clone)]
pub(crate) struct RingMetrics {
    canaries: Counters,
    in_step: Gauges,
    waiting_for: Gauges,
    members: Gauges,
    epoch: Gauges,
    store_age: Gauges,
    issues_for: Gauges,
}

impl RingMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let families = Families(metrics, "tessera_stek_");
        Self {
            canaries: families
                .counters("canaries", "Tickets of one server that were offered to another"),
            in_step: families
                .gauges("in_step", "Whether the server holds what the ring wants: 1, or 0"),
            waiting_for: families
                .gauges("waiting_for", "Live members that don't hold the next key"),
            members: families.gauges("members", "Live members"),
            epoch: families.gauges("epoch", "Epoch of the issuing key"),
            store_age: families
                .gauges("store_age_seconds", "Time since the store was last read; -1: never"),
            issues_for: families
                .gauges("issues_for_seconds", "How long the issuing key may seal; 0: none may"),
        }
    }

    pub(crate) fn canary(&self, from: &str, to: &str, result: CanaryResult) {
        let labels = vec![
            ("from", from.to_owned()),
            ("to", to.to_owned()),
            (CanaryResult::KEY, result.name().to_owned()),
        ];
        self.canaries.get_or_create(&labels).inc();
    }

    pub(crate) fn follow<'m>(
        &self,
        members: impl Iterator<Item = (&'m str, RingStatus)>,
        now: Duration,
    ) {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let mut newest = None;
        for (name, status) in members {
            let labels = vec![("server", name.to_owned())];
            let is_in_step = status.problem.is_none() && status.looks > 0;
            self.in_step.get_or_create(&labels).set(i64::from(is_in_step));
            if newest.as_ref().is_none_or(|other: &RingStatus| other.read_at < status.read_at) {
                newest = Some(status);
            }
        }
        let Some(status) = newest else { return };
        let set = |gauges: &Gauges, value: i64| {
            gauges.get_or_create(&Vec::new()).set(value);
        };
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        set(&self.waiting_for, count(status.waiting_for.len()));
        set(&self.members, count(status.members.len()));
        let issuing = status.active.first();
        set(&self.epoch, issuing.map_or(0, |key| i64::try_from(key.epoch).unwrap_or(i64::MAX)));
        set(&self.store_age, status.read_at.map_or(-1, |at| seconds(now.saturating_sub(at))));
        set(
            &self.issues_for,
            issuing.map_or(0, |key| seconds(key.issues_until.saturating_sub(now))),
        );
    }
}
