//! Metrics, by the conventions of Prometheus. No label contains a subscriber or a path.

mod durations;
mod labels;
mod requests;
mod vault;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use tessera::Facts;
use tessera::resume::Vault;
use tessera_proxy::admin::prometheus_client::metrics::counter::Counter;
use tessera_proxy::admin::prometheus_client::metrics::family::Family;
use tessera_proxy::admin::prometheus_client::metrics::gauge::Gauge;
use tessera_proxy::admin::prometheus_client::registry::Unit;
use tessera_proxy::admin::{self, CounterFamily, Counters, Families, Gauges, Label, Labels};
use tessera_proxy::certificates::{CertificateEnd, CertificateGauges};
use tessera_proxy::gate::{Gate, Gates};

use self::durations::Durations;
pub use self::labels::{Direction, EarlyDataResult, Result, Role, TicketResult};
use self::requests::Requests;
pub(crate) use self::vault::CountedVault;
use self::vault::Entries;
use crate::names::Fqdn;
use crate::reconnection::Mode;

/// The metrics of a process. Clones share them.
///
/// | metric | labels | meaning |
/// |---|---|---|
/// | `sepp_n32c_handshakes_total` | `peer`, `role`: [`Role`], `result`: [`Result`], `reason` | exchanges of capabilities; the reason is empty on success |
/// | `sepp_n32f_reachable` | `peer` | 1 while N32-f to a peer with an association can be reached, 0 while it can't |
/// | `sepp_n32_association_state` | `peer` | 0 will be established, 1 established, 2 terminated, 3 the last attempt failed |
/// | `sepp_tls_handshakes_total` | `peer`, `mode`: [`Mode`], `result`: [`Result`] | handshakes with peers that connect; the peer is empty if it wasn't known yet |
/// | `sepp_tls_handshake_seconds` | `mode` | duration of successful handshakes |
/// | `sepp_early_data_total` | `mode`, `result`: [`EarlyDataResult`] | first flights with early data |
/// | `sepp_early_requests_total` | `peer` | requests that this SEPP sent in a first flight, and that the peer accepted there |
/// | `sepp_repeated_requests_total` | `peer` | requests that this SEPP repeated by itself, according to `repeatable` |
/// | `sepp_ticket_store_entries` | | one-time keys in the store |
/// | `sepp_ticket_consume_total` | `result`: [`TicketResult`] | lookups of this process's one-time keys |
/// | `sepp_n32f_requests_total` | `peer`, `direction`: [`Direction`], `code`, `service` | requests that were answered |
/// | `sepp_n32f_seconds` | `direction` | their duration |
/// | `sepp_policy_rejects_total` | `peer`, `rule` | messages that were refused |
/// | `sepp_policy_logged_total` | `peer`, `rule` | messages that a log-only rule would have refused |
/// | `sepp_ratelimited_total` | `peer` | requests and connections beyond a rate |
/// | `sepp_cert_not_after_seconds` | `peer`, `cert`: [`CertificateKind`](tessera_proxy::certificates::CertificateKind) | when a certificate ends, in seconds since the Unix epoch |
/// | `sepp_nrf_registered` | | 1 while this SEPP is registered at its NRF, 0 while it isn't; present if `[nrf]` is configured |
/// | `sepp_reload_total` | `result`: [`Result`] | reloads |
/// | `sepp_refused_connections_total` | `listener`, `reason` | connections that were closed immediately |
/// | `sepp_timed_out_connections_total` | `listener`, `limit` | connections that ended by `idle` or `write` |
/// | `sepp_accept_errors_total` | `listener` | how often accepting a connection failed |
/// | `sepp_open_handshakes` | `listener` | handshakes in progress |
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    n32c_handshakes: Counters,
    association_state: Gauges,
    reachable: Gauges,
    tls_handshakes: Counters,
    tls_durations: Vec<Durations>,
    early_data: Vec<CounterFamily<EarlyDataResult>>,
    early_requests: Counters,
    repeated: Counters,
    tickets: CounterFamily<TicketResult>,
    requests: Counters,
    request_durations: Vec<Durations>,
    refusals: Counters,
    logged: Counters,
    rate_limited: Counters,
    certificates: CertificateGauges,
    nrf: Gauges,
    reloads: CounterFamily<Result>,
    gates: Gates,
    peers: RwLock<HashMap<Fqdn, Arc<PeerMetrics>>>,
    /// For handshakes that failed before the peer was known.
    unknown: Vec<CounterFamily<Result>>,
}

impl Metrics {
    /// Registers the metrics. Call it once per process: a name that is registered twice is exposed twice.
    pub fn register(registry: &admin::Metrics) -> Self {
        let families = Families(registry, "sepp_");
        let counters = |name, help| families.counters(name, help);
        let gauges = |name, help| families.gauges(name, help);
        let durations = |name, help| {
            families.of_unit(name, help, Unit::Seconds, Family::<Labels, Durations>::default())
        };
        let gates = Gates::new("sepp_");
        registry.register_collector(gates.clone());
        let tls_handshakes = counters("tls_handshakes", "TLS handshakes on N32, by mode");
        let early_data = counters(
            "early_data",
            "First flights with early data, by result; without a request where none may be early",
        );
        let of_modes = durations("tls_handshake", "Duration of TLS handshakes on N32");
        let of_directions = durations("n32f", "Duration of requests on N32-f");
        let by_mode = |mode: &Mode| vec![(Mode::KEY, mode.name().to_owned())];
        let unknown = of_peer("");
        Self(Arc::new(Inner {
            n32c_handshakes: counters("n32c_handshakes", "Exchanges of capabilities on N32-c"),
            association_state: gauges(
                "n32_association_state",
                "0 will be established, 1 established, 2 terminated, 3 the last attempt failed",
            ),
            reachable: gauges(
                "n32f_reachable",
                "1 while N32-f to a peer with an association can be reached, 0 while it can't",
            ),
            unknown: by_modes(&tls_handshakes, &unknown),
            tls_handshakes,
            tls_durations: Mode::ALL
                .iter()
                .map(|mode| of_modes.get_or_create_owned(&by_mode(mode)))
                .collect(),
            early_data: Mode::ALL
                .iter()
                .map(|mode| CounterFamily::new(&early_data, &by_mode(mode)))
                .collect(),
            early_requests: counters("early_requests", "Requests that were sent in a first flight"),
            repeated: counters("repeated_requests", "Requests that were sent again"),
            tickets: CounterFamily::new(
                &counters("ticket_consume", "One-time keys that were requested, by result"),
                &Labels::new(),
            ),
            requests: counters("n32f_requests", "Requests on N32-f that were answered"),
            request_durations: Direction::ALL
                .iter()
                .map(|direction| {
                    let labels = vec![(Direction::KEY, direction.name().to_owned())];
                    of_directions.get_or_create_owned(&labels)
                })
                .collect(),
            refusals: counters("policy_rejects", "Messages that were refused, by rule"),
            logged: counters("policy_logged", "Messages that broke a rule that only logs"),
            rate_limited: counters("ratelimited", "Requests and connections beyond a rate"),
            certificates: CertificateGauges::register(&families),
            nrf: gauges("nrf_registered", "Whether this SEPP is registered at its NRF"),
            reloads: CounterFamily::new(&counters("reload", "Reloads, by result"), &Labels::new()),
            gates,
            peers: RwLock::default(),
        }))
    }

    /// Creates metrics that aren't exposed.
    #[must_use]
    pub fn unregistered() -> Self {
        Self::register(&admin::Metrics::new())
    }

    /// Returns those of a configured peer; all calls share them.
    #[must_use]
    pub fn peer(&self, peer: &Fqdn) -> Arc<PeerMetrics> {
        let peers = self.0.peers.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = peers.get(peer) {
            return metrics.clone();
        }
        drop(peers);
        let mut peers = self.0.peers.write().unwrap_or_else(PoisonError::into_inner);
        let metrics = peers.entry(peer.clone());
        metrics.or_insert_with(|| Arc::new(PeerMetrics::new(self.0.clone(), peer))).clone()
    }

    /// Counts a handshake that failed before its peer was known. It counts as a full one, since its mode isn't known.
    pub fn handshake_failed(&self) {
        self.0.unknown[Mode::Full.index()].count(Result::Failed);
    }

    /// Counts the outcome of a one-time key.
    pub fn ticket(&self, result: TicketResult) {
        self.0.tickets.count(result);
    }

    /// Exposes the number of keys in this vault. Call it once per process.
    pub(crate) fn tell_entries(&self, registry: &admin::Metrics, vault: Arc<dyn Vault>) {
        registry.register_collector(Entries(vault));
    }

    /// Exposes when these certificates expire, and no others.
    pub fn certificates(&self, ends: &[CertificateEnd]) {
        self.0.certificates.replace(ends);
    }

    /// Records whether this SEPP is registered at its NRF.
    pub fn registered(&self, is_registered: bool) {
        self.0.nrf.get_or_create_owned(&Labels::new()).set(i64::from(is_registered));
    }

    /// Counts a reload.
    pub fn reload(&self, result: Result) {
        self.0.reloads.count(result);
    }

    /// Exposes the counters of this listener's gate.
    pub fn watch(&self, listener: &str, gate: &Gate) {
        self.0.gates.watch(&vec![("listener", listener.to_owned())], gate.clone(), Vec::new());
    }
}

/// The metrics of one peer. Counting takes no lock, except for refusals.
pub struct PeerMetrics {
    all: Arc<Inner>,
    labels: Labels,
    state: Gauge,
    handshakes: Vec<CounterFamily<Result>>,
    early_requests: Counter,
    repeated: Counter,
    requests: Requests,
    rate_limited: Counter,
}

impl PeerMetrics {
    fn new(all: Arc<Inner>, peer: &Fqdn) -> Self {
        let labels = of_peer(peer.as_str());
        Self {
            state: all.association_state.get_or_create_owned(&labels),
            handshakes: by_modes(&all.tls_handshakes, &labels),
            early_requests: all.early_requests.get_or_create_owned(&labels),
            repeated: all.repeated.get_or_create_owned(&labels),
            requests: Requests::new(&all.requests, labels.clone()),
            rate_limited: all.rate_limited.get_or_create_owned(&labels),
            labels,
            all,
        }
    }

    /// Counts an exchange of capabilities. The reason is one of a few words, and empty on success.
    pub fn n32c_handshake(&self, role: Role, result: Result, reason: &'static str) {
        let mut labels = self.labels.clone();
        labels.extend([
            (Role::KEY, role.name().to_owned()),
            (Result::KEY, result.name().to_owned()),
            ("reason", reason.to_owned()),
        ]);
        self.all.n32c_handshakes.get_or_create_owned(&labels).inc();
    }

    /// Records the state of the association: 0 will be established, 1 established, 2 terminated, 3 the last attempt
    /// failed.
    pub fn association_state(&self, state: u8) {
        self.state.set(state.into());
    }

    /// Records whether N32-f to the peer can be reached.
    pub fn reach(&self, is_reachable: bool) {
        let gauge = self.all.reachable.get_or_create_owned(&self.labels);
        gauge.set(i64::from(is_reachable));
    }

    /// Removes the series: nothing is known any more about the path to the peer.
    pub fn no_reach(&self) {
        self.all.reachable.remove(&self.labels);
    }

    /// Counts a completed handshake, with its early data.
    pub fn handshake(&self, facts: &Facts, duration: Duration) {
        let mode = Mode::of(facts);
        self.handshakes[mode.index()].count(Result::Ok);
        self.all.tls_durations[mode.index()].observe(duration);
        if let Some(result) = EarlyDataResult::of(facts) {
            self.all.early_data[mode.index()].count(result);
        }
    }

    /// Counts a handshake that failed after the peer was known.
    pub fn handshake_failed(&self, mode: Mode) {
        self.handshakes[mode.index()].count(Result::Failed);
    }

    /// Counts a request that was sent in a first flight, and accepted there.
    pub fn early(&self) {
        self.early_requests.inc();
    }

    /// Counts a request that was repeated.
    pub fn repeated(&self) {
        self.repeated.inc();
    }

    /// Counts a request that was answered. A service outside of roaming is `other`.
    pub fn request(
        &self,
        direction: Direction,
        service: &str,
        code: StatusCode,
        duration: Duration,
    ) {
        self.requests.count(direction, service, code);
        self.all.request_durations[direction.index()].observe(duration);
    }

    /// Counts a message that was refused.
    pub fn refused(&self, rule: &'static str) {
        self.by_rule(&self.all.refusals, rule);
    }

    /// Counts a message that a log-only rule would have refused.
    pub fn logged(&self, rule: &'static str) {
        self.by_rule(&self.all.logged, rule);
    }

    /// Counts a request or a connection beyond a rate.
    pub fn rate_limited(&self) {
        self.rate_limited.inc();
    }

    fn by_rule(&self, family: &Counters, rule: &'static str) {
        let mut labels = self.labels.clone();
        labels.push(("rule", rule.to_owned()));
        family.get_or_create_owned(&labels).inc();
    }
}

fn of_peer(peer: &str) -> Labels {
    vec![("peer", peer.to_owned())]
}

fn by_modes(family: &Counters, labels: &Labels) -> Vec<CounterFamily<Result>> {
    let of_mode = |mode: &Mode| {
        let mut labels = labels.clone();
        labels.push((Mode::KEY, mode.name().to_owned()));
        CounterFamily::new(family, &labels)
    };
    Mode::ALL.iter().map(of_mode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_the_names_that_dashboards_know() {
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        let peer = metrics.peer(&"sepp.example.org".parse().unwrap());
        peer.n32c_handshake(Role::Initiator, Result::Ok, "");
        peer.association_state(1);
        peer.handshake(&Facts::default(), Duration::from_millis(3));
        metrics.handshake_failed();
        let second = Duration::from_secs(1);
        peer.request(Direction::Outgoing, "nudm-sdm", StatusCode::OK, second);
        peer.request(Direction::Outgoing, "nudm-sdm", StatusCode::OK, second);
        peer.request(Direction::Incoming, "x", StatusCode::from_u16(299).unwrap(), second);
        peer.refused("plmn-in-json");
        peer.rate_limited();
        peer.early();
        metrics.ticket(TicketResult::Replay);
        metrics.certificates(&[CertificateEnd {
            whose: "it".to_owned(),
            expires_at: 1_800_000_000,
            series: vec![vec![("peer", String::new()), ("cert", "own".to_owned())]],
        }]);
        metrics.reload(Result::Failed);
        metrics.registered(true);
        metrics.watch("n32f", &Gate::new(Default::default()));
        let text = registry.text();
        let of = r#"peer="sepp.example.org""#;
        for line in [
            format!(
                r#"sepp_n32c_handshakes_total{{{of},role="initiator",result="ok",reason=""}} 1"#
            ),
            format!("sepp_n32_association_state{{{of}}} 1"),
            format!(r#"sepp_tls_handshakes_total{{{of},mode="a",result="ok"}} 1"#),
            format!(r#"sepp_tls_handshakes_total{{{of},mode="e",result="ok"}} 0"#),
            r#"sepp_tls_handshakes_total{peer="",mode="a",result="failed"} 1"#.to_owned(),
            r#"sepp_tls_handshake_seconds_count{mode="a"} 1"#.to_owned(),
            r#"sepp_early_data_total{mode="e",result="used"} 0"#.to_owned(),
            format!(
                r#"sepp_n32f_requests_total{{{of},direction="outgoing",code="200",service="nudm-sdm"}} 2"#
            ),
            format!(
                r#"sepp_n32f_requests_total{{{of},direction="incoming",code="other",service="other"}} 1"#
            ),
            r#"sepp_n32f_seconds_sum{direction="outgoing"} 2.0"#.to_owned(),
            r#"sepp_n32f_seconds_bucket{le="1.024",direction="outgoing"} 2"#.to_owned(),
            r#"sepp_n32f_seconds_bucket{le="0.512",direction="outgoing"} 0"#.to_owned(),
            format!(r#"sepp_policy_rejects_total{{{of},rule="plmn-in-json"}} 1"#),
            format!("sepp_ratelimited_total{{{of}}} 1"),
            format!("sepp_early_requests_total{{{of}}} 1"),
            r#"sepp_ticket_consume_total{result="replay"} 1"#.to_owned(),
            r#"sepp_cert_not_after_seconds{peer="",cert="own"} 1800000000"#.to_owned(),
            r#"sepp_reload_total{result="failed"} 1"#.to_owned(),
            "sepp_nrf_registered{} 1".to_owned(),
            r#"sepp_refused_connections_total{listener="n32f",reason="rate"} 0"#.to_owned(),
        ] {
            assert_eq!(text.matches(&format!("{line}\n")).count(), 1, "{line} in\n{text}");
        }
    }

    #[test]
    fn a_certificate_of_a_removed_peer_is_no_longer_exposed() {
        let registry = admin::Metrics::new();
        let metrics = Metrics::register(&registry);
        let end = |peer: &str, expires_at| CertificateEnd {
            whose: peer.to_owned(),
            expires_at,
            series: vec![vec![("peer", peer.to_owned()), ("cert", "leaf".to_owned())]],
        };
        let exposed = || {
            let text = registry.text();
            let lines = text.lines().filter(|line| line.starts_with("sepp_cert_not_after"));
            let mut lines: Vec<_> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        metrics.certificates(&[end("a", 1), end("b", 1)]);
        assert_eq!(exposed().len(), 2);
        metrics.certificates(&[end("b", 2)]);
        assert_eq!(exposed(), [r#"sepp_cert_not_after_seconds{peer="b",cert="leaf"} 2"#]);
        metrics.certificates(&[]);
        assert!(exposed().is_empty());
    }

    #[test]
    fn a_peer_that_is_asked_for_again_goes_on_counting() {
        let metrics = Metrics::unregistered();
        let name = "sepp.example.org".parse().unwrap();
        metrics.peer(&name).repeated();
        metrics.peer(&name).repeated();
        assert_eq!(metrics.peer(&name).repeated.get(), 2);
    }
}
