//! The targets, and the results.

use super::input::Inputs;
use crate::bithac::report::{CellName, End, EntryContent, Hits, LargeCache, Part};
use crate::bithac::{CertificateWay, Certificates};
use crate::numbers::{count, fixed};
use crate::statistics::Median;
use crate::table::{Cell, Table, cells};
use crate::wired::{LinkName, Sample};

/// A target: its name, the measurement, and its upper limit.
struct Target {
    what: String,
    measured: Option<f64>,
    most: f64,
    /// How the number is written.
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    /// A share of the full handshake.
    Share,
    Bytes,
    Nanoseconds,
}

/// The table.
pub(super) fn table(inputs: &Inputs) -> Option<Table> {
    inputs.bithac.as_ref()?;
    let mut table = Table::with_note(
        "Each number is of the run whose samples are next to this page. Shares are of the full handshake with the same \
         certificates over the same link. TLS is the records of the handshake, both directions; IP+TCP the packets of \
         the whole connection; times and processor times are medians.",
        "what | measured | to reach | reached",
    );
    for Target { what, measured, most, unit } in targets(inputs) {
        let written = |value: f64| match unit {
            Unit::Share => fixed(value, 3),
            Unit::Bytes => format!("{} B", fixed(value, 0)),
            Unit::Nanoseconds => format!("{} ns", fixed(value, 0)),
        };
        let reached = measured.map(|measured| if measured <= most { "yes" } else { "no" });
        let cells = cells![
            measured.map(written),
            format!("at most {}", written(most)),
            Cell::from(reached).bad_if(reached == Some("no")),
        ];
        table.row(what, cells);
    }
    table.unless_empty()
}

fn targets(inputs: &Inputs) -> Vec<Target> {
    use CertificateWay::{Cached, CachedFirst, CachedMiss, Full, KnownKey, RawKeys};
    use Certificates::{MlDsa65, MlKem768, P256, Rsa2048, Rsa4096};
    let share = |what: String, measured, most| Target { what, measured, most, unit: Unit::Share };
    let bytes = |what: String, measured, most| Target { what, measured, most, unit: Unit::Bytes };
    let mut targets = Vec::new();
    for (certificates, most) in [(Rsa2048, 0.27), (P256, 0.33), (Rsa4096, 0.25), (MlDsa65, 0.32)] {
        let tls = |way| tls(inputs, way, certificates);
        let measured = ratio(tls(Cached), tls(Full));
        targets.push(share(format!("TLS, {certificates}: cached"), measured, most));
    }
    if let Some(cached) = tls(inputs, Cached, MlKem768) {
        let what = format!("TLS, {MlKem768}: cached, of {MlDsa65} in full");
        targets.push(share(what, ratio(Some(cached), tls(inputs, Full, MlDsa65)), 0.20));
        let what =
            format!("TLS, {MlKem768}: the server's key known, the client without a certificate");
        targets.push(bytes(what, tls(inputs, KnownKey, MlKem768), 4200.0));
    }
    for mtu in [1500, 576, 127] {
        let ip = |way| Some(inputs.bytes(way, Rsa2048, mtu)?.ip_bytes() as f64);
        let measured = ratio(ip(Cached), ip(Full));
        let what = format!("IP+TCP, {Rsa2048}, MTU {mtu}: cached (at least -61.1 %)");
        targets.push(share(what, measured, 0.389));
    }
    if let Some(raw) = tls(inputs, RawKeys, MlDsa65) {
        let what = format!("TLS, {MlDsa65}: cached, below raw public keys");
        targets.push(bytes(what, tls(inputs, Cached, MlDsa65), raw));
    }
    for (way, words, most) in
        [(CachedFirst, "a first handshake with caches", 16.0), (CachedMiss, "a miss", 40.0)]
    {
        let more =
            |certificates| Some(tls(inputs, way, certificates)? - tls(inputs, Full, certificates)?);
        let worst = Certificates::ALL.into_iter().filter_map(more).reduce(f64::max);
        targets.push(bytes(format!("TLS: {words}, beyond a full one, the worst"), worst, most));
    }
    let link = LinkName { rtt_ms: 100.0, rate_bps: Some(100_000), mtu: 1500, loss: 0.0 };
    let name = CellName { part: Part::Times, way: Full, certificates: MlDsa65, link };
    let time = |way| inputs.median(&name, way, |sample: &Sample| sample.response_us);
    let what = format!("response at 100 kbit/s, RTT 100 ms, {MlDsa65}: cached");
    targets.push(share(what, ratio(time(Cached), time(Full)), 0.45));
    let client = |way| median(&inputs.work(way, P256, 3)?.client_us);
    let what = format!("the client's processor time, {P256}, chain of 3: cached");
    targets.push(share(what, ratio(client(Cached), client(Full)), 0.65));
    let of_rate = |rate| inputs.hits().find(|it| (it.certificates, it.rate) == (P256, rate));
    let cpu = |hits: &Hits| median(&hits.client_us);
    let measured = ratio(of_rate(Some(0)).and_then(cpu), of_rate(None).and_then(cpu));
    let what = format!("the same at a hit rate of 0 %, {P256}");
    targets.push(share(what, measured, 1.0));
    for (certificates, most) in [(P256, 160.0), (Rsa2048, 380.0)] {
        let is_this = |it: &&crate::bithac::report::Memory| {
            (it.way, it.certificates, it.end) == (CertificateWay::Known, certificates, End::Client)
        };
        let each = inputs.memory().find(is_this).and_then(|it| it.per_entry());
        let what = format!("memory of a known chain, {certificates}: key and dates");
        targets.push(bytes(what, each, most));
    }
    for kept in [EntryContent::Certificates, EntryContent::Hashes] {
        let many = inputs.many().find(|it| (it.kept, it.certificates) == (kept, P256));
        let name =
            many.map_or_else(|| P256.to_string(), |it| format!("{} of {P256}", count(it.clients)));
        let what = |words: &str| format!("a server with clients, {name}, {}: {words}", kept.name());
        let most = many.map(|it| it.most as f64);
        targets.push(bytes(what("memory at most"), most, f64::from(1 << 30)));
        let beside = many.map(LargeCache::beside);
        targets.push(bytes(what("a client, beyond its own"), beside, 64.0));
        let look_up = many.map(|it| it.known_ns.max(it.unknown_ns));
        let (what, unit) = (what("two tickets looked up"), Unit::Nanoseconds);
        targets.push(Target { what, measured: look_up, most: 1000.0, unit });
    }
    targets
}

fn tls(inputs: &Inputs, way: CertificateWay, certificates: Certificates) -> Option<f64> {
    Some(inputs.bytes(way, certificates, 1500)?.handshake_bytes() as f64)
}

pub(super) fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b.filter(|b| *b > 0.0)?)
}

pub(super) fn median(samples: &[f64]) -> Option<f64> {
    Some(Median::of(samples.iter().copied())?.value)
}
