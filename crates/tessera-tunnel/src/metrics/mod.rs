//! Metrics of a tunnel, by the conventions of Prometheus: every series has the labels `tunnel` (the name of its
//! section) and `role`.

mod labels;

use std::sync::Arc;
use std::time::Duration;

use tessera::Facts;
use tessera_proxy::admin;
use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
use tessera_proxy::admin::prometheus_client::metrics::family::Family;
use tessera_proxy::admin::prometheus_client::metrics::gauge::Gauge;
use tessera_proxy::admin::prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tessera_proxy::admin::prometheus_client::registry::Unit;
pub use tessera_proxy::admin::{CounterFamily, GaugeGuard, Label};
use tessera_proxy::admin::{Counters, Families, Gauges, Labels};
use tessera_proxy::certificates::CertificateGauges;
pub use tessera_proxy::certificates::CertificateKind;
use tessera_proxy::gate::{Gate, Gates};

pub use self::labels::{
    DialResult, EarlyDataVerdict, HandshakeKind, Outcome, ReloadResult, Role, SpareEvent,
};

/// The metrics of all tunnels of a process.
///
/// | metric | labels | counts |
/// |---|---|---|
/// | `tessera_tunnel_connections_total` | `outcome`: [`Outcome`] | connections that ended |
/// | `tessera_tunnel_active_connections` | | open connections |
/// | `tessera_tunnel_refused_connections_total` | `reason`: `connections_per_address`, `handshakes_per_address`, `rate`, `proxy_header` | connections closed at once |
/// | `tessera_tunnel_timed_out_connections_total` | `limit`: `idle`, `write` | sides of connections that moved nothing, or didn't read, for longer than that limit |
/// | `tessera_tunnel_accept_errors_total` | | failures to accept for want of files or memory |
/// | `tessera_tunnel_open_handshakes` | | handshakes with clients in progress |
/// | `tessera_tunnel_handshakes_total` | `kind`: [`HandshakeKind`] | TLS handshakes |
/// | `tessera_tunnel_handshake_duration_seconds` | | time from the connection to the end of the handshake; at a client including the wait for a program's first bytes |
/// | `tessera_tunnel_early_data_total` | `verdict`: [`EarlyDataVerdict`] | first flights that could carry data; those of spare connections can't |
/// | `tessera_tunnel_early_data_bytes_total` | | bytes accepted as early data |
/// | `tessera_tunnel_dials_total` | `result`: [`DialResult`] | connections to the server (client) or to the backend (server) |
/// | `tessera_tunnel_dial_duration_seconds` | | duration of successful dials |
/// | `tessera_tunnel_sent_bytes_total`, `tessera_tunnel_received_bytes_total` | | application bytes into TLS, and out of it |
/// | `tessera_tunnel_reloads_total` | `result`: [`ReloadResult`] | reloads of certificates and keys |
/// | `tessera_tunnel_cert_not_after_seconds` | `cert`: [`CertificateKind`] | expiry of a certificate, in seconds since the Unix epoch; of several in a file, the earliest |
/// | `tessera_tunnel_spare_connections` | | connections waiting for a program, with the handshake done |
/// | `tessera_tunnel_spare_events_total` | `event`: [`SpareEvent`] | events of spare connections |
#[derive(Clone)]
pub struct Metrics {
    connections: Counters,
    active: Gauges,
    gates: Gates,
    handshakes: Counters,
    handshake_duration: Histograms,
    early_data: Counters,
    early_data_bytes: Counters,
    dials: Counters,
    dial_duration: Histograms,
    sent_bytes: Counters,
    received_bytes: Counters,
    reloads: Counters,
    pub(crate) certificates: CertificateGauges,
    spare: Gauges,
    spare_events: Counters,
}

impl Metrics {
    /// Registers the metrics: once in a process, because a name that is registered twice is exposed twice.
    pub fn register(registry: &admin::Metrics) -> Self {
        let gates = Gates::new(PREFIX);
        registry.register_collector(gates.clone());
        let families = Families(registry, PREFIX);
        let counters = |name, help| families.counters(name, help);
        let gauges = |name, help| families.gauges(name, help);
        let bytes = |name, help| families.of_unit(name, help, Unit::Bytes, Counters::default());
        let durations = |name, help| {
            let family = Histograms::new_with_constructor(durations);
            families.of_unit(name, help, Unit::Seconds, family)
        };
        Self {
            certificates: CertificateGauges::register(&families),
            connections: counters("connections", "Connections that ended, by outcome"),
            active: gauges("active_connections", "Connections open now"),
            gates,
            handshakes: counters("handshakes", "TLS handshakes, by kind"),
            handshake_duration: durations("handshake_duration", "Duration of TLS handshakes"),
            early_data: counters("early_data", "Flights with early data, by verdict"),
            early_data_bytes: bytes("early_data", "Application data accepted as early data"),
            dials: counters("dials", "Connections dialled, by result"),
            dial_duration: durations("dial_duration", "Duration of dials that succeeded"),
            sent_bytes: bytes("sent", "Application data that went into TLS"),
            received_bytes: bytes("received", "Application data that came out of TLS"),
            reloads: counters("reloads", "Reloads of certificates and keys, by result"),
            spare: gauges("spare_connections", "Spare connections that wait for a program"),
            spare_events: counters("spare_events", "What became of spare connections"),
        }
    }

    /// Returns the metrics of one tunnel. All its series exist from now on, starting at 0: a missing series could not
    /// be distinguished from an event that never happened.
    #[must_use]
    pub fn tunnel(&self, name: &str, role: Role) -> Arc<TunnelMetrics> {
        let labels = labels(name, role);
        Arc::new(TunnelMetrics {
            connections: CounterFamily::new(&self.connections, &labels),
            active: self.active.get_or_create_owned(&labels),
            refused_proxy_headers: Counter::default(),
            gates: self.gates.clone(),
            labels: labels.clone(),
            handshakes: CounterFamily::new(&self.handshakes, &labels),
            handshake_duration: self.handshake_duration.get_or_create_owned(&labels),
            early_data: CounterFamily::new(&self.early_data, &labels),
            early_data_bytes: self.early_data_bytes.get_or_create_owned(&labels),
            dials: CounterFamily::new(&self.dials, &labels),
            dial_duration: self.dial_duration.get_or_create_owned(&labels),
            sent_bytes: self.sent_bytes.get_or_create_owned(&labels),
            received_bytes: self.received_bytes.get_or_create_owned(&labels),
            reloads: CounterFamily::new(&self.reloads, &labels),
            spare: (role == Role::Client).then(|| SpareMetrics {
                connections: self.spare.get_or_create_owned(&labels),
                events: CounterFamily::new(&self.spare_events, &labels),
            }),
        })
    }
}

/// The metrics of one end of one tunnel. Only durations take a lock.
pub struct TunnelMetrics {
    /// Connections that ended.
    pub connections: CounterFamily<Outcome>,
    active: Gauge,
    /// At a server: connections closed because their PROXY header was missing, malformed or not trusted.
    pub refused_proxy_headers: Counter,
    gates: Gates,
    labels: Labels,
    /// TLS handshakes; [`handshake`](Self::handshake) counts one from the engine's facts.
    pub handshakes: CounterFamily<HandshakeKind>,
    handshake_duration: Histogram,
    /// Flights with early data.
    pub early_data: CounterFamily<EarlyDataVerdict>,
    /// Bytes accepted as early data.
    pub early_data_bytes: Counter,
    /// Connections to the server or to the backend; [`dialled`](Self::dialled) counts one with its duration.
    pub dials: CounterFamily<DialResult>,
    dial_duration: Histogram,
    /// Application bytes into TLS.
    pub sent_bytes: Counter,
    /// Application bytes out of TLS.
    pub received_bytes: Counter,
    /// Reloads of certificates and keys.
    pub reloads: CounterFamily<ReloadResult>,
    spare: Option<SpareMetrics>,
}

struct SpareMetrics {
    connections: Gauge,
    events: CounterFamily<SpareEvent>,
}

impl TunnelMetrics {
    /// Returns metrics that are not exposed.
    #[must_use]
    pub fn unregistered(role: Role) -> Arc<Self> {
        Metrics::register(&admin::Metrics::new()).tunnel("", role)
    }

    /// Exposes this gate's counters from now on, with the refused PROXY headers.
    pub fn watch(&self, gate: &Gate) {
        let proxy_header = ("proxy_header", self.refused_proxy_headers.clone());
        self.gates.watch(&self.labels, gate.clone(), vec![proxy_header]);
    }

    /// Counts a connection as open until the returned value is dropped.
    #[must_use]
    pub fn active(&self) -> GaugeGuard {
        GaugeGuard::new(&self.active)
    }

    /// Counts a spare connection as open until the returned value is dropped. A server has none.
    #[must_use]
    pub fn spare(&self) -> Option<GaugeGuard> {
        self.spare.as_ref().map(|spare| GaugeGuard::new(&spare.connections))
    }

    /// Counts an event of a spare connection. A server has none.
    pub fn spare_event(&self, event: SpareEvent) {
        if let Some(spare) = &self.spare {
            spare.events.count(event);
        }
    }

    /// Returns how often this event of spare connections was counted.
    #[cfg(test)]
    pub(crate) fn spare_events(&self, event: SpareEvent) -> u64 {
        self.spare.as_ref().map_or(0, |spare| spare.events.get(event))
    }

    /// Counts a completed handshake and its duration.
    pub fn handshake(&self, facts: &Facts, duration: Duration) {
        self.handshakes.count(HandshakeKind::of(facts));
        self.handshake_duration.observe(duration.as_secs_f64());
    }

    /// Counts a successful dial and its duration.
    pub fn dialled(&self, duration: Duration) {
        self.dials.count(DialResult::Connected);
        self.dial_duration.observe(duration.as_secs_f64());
    }
}

pub(crate) fn labels(tunnel: &str, role: Role) -> Labels {
    vec![("tunnel", tunnel.to_owned()), ("role", role.name().to_owned())]
}

const PREFIX: &str = "tessera_tunnel_";

type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// From half a millisecond, about a round trip in one data centre, to 16 seconds.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_exists_before_anything_happened() {
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        let tunnel = metrics.tunnel("pg", Role::Client);
        let before = registry.text();
        for series in [
            r#"tessera_tunnel_connections_total{tunnel="pg",role="client",outcome="reset_by_verdict"} 0"#,
            r#"tessera_tunnel_early_data_total{tunnel="pg",role="client",verdict="used"} 0"#,
            r#"tessera_tunnel_early_data_bytes_total{tunnel="pg",role="client"} 0"#,
            r#"tessera_tunnel_handshake_duration_seconds_count{tunnel="pg",role="client"} 0"#,
            r#"tessera_tunnel_spare_connections{tunnel="pg",role="client"} 0"#,
        ] {
            assert!(before.contains(&format!("{series}\n")), "{series} is not in\n{before}");
        }
        tunnel.early_data.count(EarlyDataVerdict::Used);
        let active = tunnel.active();
        let during = registry.text();
        assert!(during.contains(r#"role="client",verdict="used"} 1"#));
        assert!(during.contains(r#"active_connections{tunnel="pg",role="client"} 1"#));
        drop(active);
        assert!(registry.text().contains(r#"active_connections{tunnel="pg",role="client"} 0"#));
    }

    #[test]
    fn what_a_gate_counts_is_reported_once_for_each_tunnel() {
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        let tunnel = metrics.tunnel("pg", Role::Server);
        tunnel.watch(&Gate::new(Default::default()));
        tunnel.watch(&Gate::new(Default::default()));
        tunnel.refused_proxy_headers.inc();
        metrics.tunnel("pg", Role::Client).watch(&Gate::new(Default::default()));
        let text = registry.text();
        for line in [
            r#"tessera_tunnel_refused_connections_total{tunnel="pg",role="server",reason="rate"} 0"#,
            r#"tessera_tunnel_refused_connections_total{tunnel="pg",role="server",reason="proxy_header"} 1"#,
            r#"tessera_tunnel_timed_out_connections_total{tunnel="pg",role="client",limit="idle"} 0"#,
            r#"tessera_tunnel_accept_errors_total{tunnel="pg",role="client"} 0"#,
            r#"tessera_tunnel_open_handshakes{tunnel="pg",role="server"} 0"#,
            "# TYPE tessera_tunnel_refused_connections counter",
        ] {
            assert_eq!(text.matches(&format!("{line}\n")).count(), 1, "{line} in\n{text}");
        }
    }

    #[test]
    fn a_tunnel_that_is_asked_for_again_goes_on_counting() {
        let metrics = Metrics::register(&admin::Metrics::new());
        metrics.tunnel("pg", Role::Server).reloads.count(ReloadResult::Failed);
        metrics.tunnel("pg", Role::Client).reloads.count(ReloadResult::Failed);
        let again = metrics.tunnel("pg", Role::Server);
        assert_eq!(again.reloads.get(ReloadResult::Failed), 1);
        assert!(again.spare().is_none(), "a server has no spare connections");
    }
}
