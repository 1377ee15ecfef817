//! The metrics of key pairs made ahead, collected at each request.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tessera_aws_lc::{KeyKind, KeyUsage, KeysAhead};

use super::work::FillWork;

/// The pools, and what filling them cost:
///
/// | metric | labels | value |
/// |---|---|---|
/// | `tessera_keys_ahead` | `kind` | key pairs that wait for a handshake |
/// | `tessera_keys_ahead_events_total` | `kind`, `event`: `made`, `used`, `wiped`, `missed` | what became of them; `missed`: made on demand, since none was there |
/// | `tessera_keys_ahead_cpu_seconds_total` | | processor time spent on making them |
/// | `tessera_keys_ahead_failures_total` | | how often AWS-LC could make none |
#[derive(Debug)]
pub(super) struct KeyMetrics {
    pub(super) keys: KeysAhead,
    pub(super) work: Arc<FillWork>,
}

impl Collector for KeyMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let there = self.keys.counts();
        let gauge = |kind: &KeyKind| (vec![("kind", name(*kind))], there.of(*kind) as u64);
        let there = KeyKind::ALL.iter().map(gauge).map(|(by, count)| (by, ConstGauge::new(count)));
        let help = "Key pairs that wait for a handshake.";
        family(&mut encoder, "tessera_keys_ahead", help, there)?;
        let events = KeyKind::ALL.iter().flat_map(|kind| {
            events(self.keys.usage(*kind)).map(|(event, count)| {
                (vec![("kind", name(*kind)), ("event", event)], ConstCounter::new(count))
            })
        });
        let help = "What became of key pairs made ahead.";
        family(&mut encoder, "tessera_keys_ahead_events", help, events)?;
        let spent = ConstCounter::new(self.work.cpu().as_secs_f64());
        let help = "Processor time spent on making key pairs ahead.";
        let seconds = Some(&Unit::Seconds);
        let counter = spent.metric_type();
        spent.encode(encoder.encode_descriptor(
            "tessera_keys_ahead_cpu",
            help,
            seconds,
            counter,
        )?)?;
        let failures = ConstCounter::new(self.work.failures());
        let help = "How often AWS-LC could make no key pair ahead.";
        let name = "tessera_keys_ahead_failures";
        failures.encode(encoder.encode_descriptor(name, help, None, counter)?)
    }
}

/// Returns a part of a status line, once any key was made.
pub(super) fn status(keys: KeysAhead, work: &FillWork) -> Option<String> {
    let sum = |of: fn(KeyUsage) -> u64| KeyKind::ALL.iter().map(|kind| of(keys.usage(*kind))).sum();
    let made: u64 = sum(|usage| usage.made);
    let [used, wiped, on_demand]: [u64; 3] =
        [sum(|usage| usage.used), sum(|usage| usage.wiped), sum(|usage| usage.on_demand)];
    let cpu = work.cpu().as_millis();
    (made > 0).then(|| {
        format!(
            "{made} keys made ahead ({cpu} ms of CPU), {used} used, {wiped} wiped, {on_demand} made on demand"
        )
    })
}

fn family<M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl Iterator<Item = (Vec<(&'static str, &'static str)>, M)>,
) -> fmt::Result {
    let mut series = series.peekable();
    let Some((_, first)) = series.peek() else { return Ok(()) };
    let metric_type = first.metric_type();
    let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
    series.try_for_each(|(labels, metric)| metric.encode(family.encode_family(&labels)?))
}

fn events(usage: KeyUsage) -> [(&'static str, u64); 4] {
    [
        ("made", usage.made),
        ("used", usage.used),
        ("wiped", usage.wiped),
        ("missed", usage.on_demand),
    ]
}

fn name(kind: KeyKind) -> &'static str {
    match kind {
        KeyKind::X25519 => "x25519",
        KeyKind::MlKem768 => "ml_kem_768",
        KeyKind::OneTimeX25519 => "one_time_x25519",
        KeyKind::OneTimeX25519MlKem768 => "one_time_x25519_ml_kem_768",
        _ => "other",
    }
}
