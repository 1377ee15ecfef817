//! `pgbench -C` over an emulated link: each transaction in a new connection.

use std::fs;
use std::net::SocketAddr;

use tessera_link::{End, Link, LinkKind, LinkParameters};
use tessera_test_peers::postgres::{self, Postgres};
use tessera_test_peers::{PATIENCE, Process};

use crate::Failure;
use crate::files::Files;
use crate::options::Options;
use crate::proxies::Proxies;
use crate::report::Report;
use crate::ways::{
    FAST_OPEN, HAPROXY, HAPROXY_AWS_LC, HAPROXY_FAST_OPEN, HYBRID, NONE, SPARE, STUNNEL,
    WITHOUT_EARLY_DATA, Way, X25519, X25519_PSK_KE,
};

const WAYS: [Way; 11] = [
    NONE,
    STUNNEL,
    HAPROXY,
    HAPROXY_FAST_OPEN,
    HAPROXY_AWS_LC,
    X25519,
    X25519_PSK_KE,
    HYBRID,
    WITHOUT_EARLY_DATA,
    FAST_OPEN,
    SPARE,
];
/// Processor time can't account for a round trip.
const NEARLY_ONE: f64 = 0.9;

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (rounds, transactions) = (options.rounds(9), options.count(5));
    let parameters = LinkParameters { rtt: options.rtt, ..LinkParameters::default() };
    let link = Link::open(LinkKind::Tun, &parameters)?;
    allow_fast_open(&link)?;
    let files = Files::new()?;
    let postgres =
        Postgres::start_by(|command| link.spawn(End::Server, command), link.addresses().server);
    let inside = postgres.address();
    fill(&link, inside)?;

    let mut all = Vec::new();
    for way in WAYS.into_iter().filter(|way| way.is_available(&options.programs)) {
        // Without a tunnel the client talks to the backend across the link.
        let backend =
            if way == NONE { (link.addresses().server, inside.port()).into() } else { inside };
        let proxies = Proxies::start(way, &link, backend, &files, &options.programs, true)?;
        pgbench(&link, proxies.address, transactions)?;
        all.push(proxies);
    }
    let rtt = options.rtt.as_secs_f64() * 1000.0;
    let notes = format!("{rounds} rounds of {transactions}, round trip {rtt} ms");
    let mut report =
        Report::new("pgbench -C: time of a connection and its transaction", "ms", notes);
    for _ in 0..rounds {
        for proxies in &all {
            let time = pgbench(&link, proxies.address, transactions)?;
            report.add(proxies.way, "", time);
        }
    }
    for proxies in &all {
        proxies.check_resumption((rounds + 1) * transactions)?;
    }
    report.finish(options.json, None)?;
    saved(
        &report,
        rtt,
        &[
            (X25519, STUNNEL),
            (X25519, HAPROXY),
            (X25519, HAPROXY_AWS_LC),
            (FAST_OPEN, HAPROXY_FAST_OPEN),
        ],
    )
}

/// Fails unless the first of each pair needs one round trip less than the second.
fn saved(report: &Report, rtt: f64, pairs: &[(Way, Way)]) -> Result<(), Failure> {
    let mut late = Vec::new();
    for (ours, theirs) in pairs {
        let (Some(our), Some(their)) = (report.median(*ours, ""), report.median(*theirs, ""))
        else {
            continue;
        };
        let trips = (their - our) / rtt;
        println!("{}: {trips:.2} round trips before {}", ours.name, theirs.name);
        if trips < NEARLY_ONE {
            late.push(ours.name);
        }
    }
    if late.is_empty() { Ok(()) } else { Err(format!("not a round trip before: {late:?}").into()) }
}

/// Allows both ends to begin connections in the SYN, and to accept such.
fn allow_fast_open(link: &Link) -> Result<(), Failure> {
    for end in [End::Client, End::Server] {
        let set = link.spawn_thread(end, || fs::write("/proc/sys/net/ipv4/tcp_fastopen", "3"))?;
        set.join().map_err(|_| "the thread of an end failed")??;
    }
    Ok(())
}

/// Creates the tables, at the server's end.
fn fill(link: &Link, at: SocketAddr) -> Result<(), Failure> {
    let options = ["--initialize", "--quiet", &postgres::connection(at)];
    let mut pgbench =
        Process::start_by(|command| link.spawn(End::Server, command), "pgbench", options);
    let succeeded = pgbench.end_input().ends_within(6 * PATIENCE);
    if succeeded { Ok(()) } else { Err(format!("pgbench: {}", pgbench.output()).into()) }
}

/// Runs it; returns the mean time of a transaction, one SELECT, including its connection, in ms.
fn pgbench(link: &Link, at: SocketAddr, transactions: usize) -> Result<f64, Failure> {
    let count = format!("--transactions={transactions}");
    let options = ["--connect", "--no-vacuum", "--select-only", &count, &postgres::connection(at)];
    let mut pgbench =
        Process::start_by(|command| link.spawn(End::Client, command), "pgbench", options);
    let succeeded = pgbench.end_input().ends_within(6 * PATIENCE);
    let output = pgbench.output();
    let time = output.lines().find_map(|line| line.strip_prefix("latency average = "));
    match time.and_then(|time| time.strip_suffix(" ms")?.parse().ok()) {
        Some(time) if succeeded => Ok(time),
        _ => Err(format!("pgbench: {output}").into()),
    }
}
