//! The ring in etcd: rotation in two phases, clocks that are wrong, servers that lag, versions that mix.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{DEADLINE, client, runtime};
use serde_json::json;
use tessera::crypto::Secret;
use tessera::handshake::Reply;
use tessera::resume::{Ancestry, OpenTicket, SessionState, TicketKeys};
use tessera::wire::CipherSuite;
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdRing, RingOptions, RingStatus};
use tessera_etcd_cluster::Cluster;
use tessera_vault::contract::NOW;
use tessera_vault::{EpochKey, TicketKeyRing, WrappingKeys, WrappingPurpose};
use tokio::runtime::Runtime;

const HOUR: Duration = Duration::from_secs(3600);

/// Servers that share a ring, in one process, with a true time that the test moves.
struct Fleet {
    cluster: Cluster,
    runtime: Arc<Runtime>,
    /// In milliseconds since the Unix epoch.
    time: Arc<AtomicU64>,
    options: RingOptions,
}

/// A server, and how many minutes its clock is ahead.
struct Server {
    ring: EtcdRing,
    keys: Arc<TicketKeyRing>,
    time: Arc<AtomicU64>,
    ahead: i64,
}

fn wrong(time: &AtomicU64, ahead: i64) -> Duration {
    let true_time = time.load(Ordering::Relaxed);
    Duration::from_millis(true_time.saturating_add_signed(ahead * 60_000))
}

impl Fleet {
    fn start(members: usize) -> Self {
        let options = RingOptions {
            counts_as_live_for: Duration::from_secs(2),
            look_every: Duration::from_millis(100),
            ..RingOptions::new("/ring/")
        };
        let cluster = Cluster::start(members).unwrap();
        let time = Arc::new(AtomicU64::new(NOW.as_millis() as u64));
        Self { cluster, runtime: runtime(), time, options }
    }

    fn server(&self, ahead: i64) -> Server {
        self.server_at(self.cluster.endpoints(), ahead, 7)
    }

    fn server_at(&self, endpoints: Vec<String>, ahead: i64, wrapping: u8) -> Server {
        let _inside = self.runtime.enter();
        let keys = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
        keys.add(EpochKey::forever([1; 16], [wrapping; 32].into()), NOW).unwrap();
        let time = self.time.clone();
        let clock = Box::new(move || wrong(&time, ahead));
        let client = client(endpoints, Duration::from_secs(1));
        let (keys, options) = (Arc::new(keys), self.options.clone());
        let ring = EtcdRing::open_with_clock(client, &provider(), keys, options, clock).unwrap();
        Server { keys: ring.keys(), ring, time: self.time.clone(), ahead }
    }

    fn pass(&self, time: Duration) {
        self.time.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }

    fn write(&self, key: &[u8], value: &[u8]) {
        let body = json!({ "key": base64(key), "value": base64(value) });
        self.cluster.ask(0, "/v3/kv/put", &body).unwrap();
    }

    fn delete(&self, key: &[u8]) {
        self.cluster.ask(0, "/v3/kv/deleterange", &json!({ "key": base64(key) })).unwrap();
    }
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl Server {
    fn seal(&self) -> Option<Vec<u8>> {
        let now = wrong(&self.time, self.ahead);
        let session = SessionState {
            suite: CipherSuite::TLS_AES_128_GCM_SHA256,
            psk: Secret::from_slice(&[7; 32]).unwrap(),
            protocol: None,
            server_name: None,
            peer: None,
            external_psk: None,
            authenticated_at: now.as_secs(),
            scope: Vec::new(),
            ancestry: Ancestry::PostQuantum,
            issued_at: now.as_millis() as u64,
            lifetime: 3600,
            age_add: 0,
            max_early_data_size: 0,
            companion: None,
        };
        self.keys.seal(&session, now)
    }

    fn opens(&self, ticket: &[u8]) -> bool {
        let unix = Some(wrong(&self.time, self.ahead));
        match self.keys.open(&OpenTicket { identity: ticket.to_vec(), unix }) {
            Reply::Now(session) => session.is_some(),
            Reply::Later => unreachable!("the ring answers at once"),
        }
    }

    fn status(&self) -> RingStatus {
        self.ring.status()
    }
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE * 2;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All have looked since, see the same, and nothing is under way.
fn settled(servers: &[Server]) {
    let looks: Vec<_> = servers.iter().map(|server| server.status().looks).collect();
    until("the ring settles", || {
        let statuses: Vec<_> = servers.iter().map(Server::status).collect();
        statuses.iter().zip(&looks).all(|(status, looks)| {
            status.looks > looks + 1
                && status.distributing.is_none()
                && !status.active.is_empty()
                && status.active == statuses[0].active
        })
    });
}

#[test]
fn rotation_with_clocks_that_are_wrong() {
    let fleet = Fleet::start(3);
    let servers: Vec<_> = [0, 5, -5].into_iter().map(|ahead| fleet.server(ahead)).collect();
    settled(&servers);
    let running = AtomicBool::new(true);
    let opened = AtomicU64::new(0);
    thread::scope(|scope| {
        // All the time, each server's tickets open at each other, at once.
        for sealing in &servers {
            let (servers, running, opened) = (&servers, &running, &opened);
            scope.spawn(move || {
                while running.load(Ordering::Relaxed) {
                    let ticket = sealing.seal().expect("some key always seals");
                    for opening in servers {
                        let (at, from) = (opening.ahead, sealing.ahead);
                        assert!(opening.opens(&ticket), "at {at} min from {from} min");
                        opened.fetch_add(1, Ordering::Relaxed);
                    }
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let stop = Stop(&running);
        let mut tickets = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        for hour in 0..60 {
            fleet.pass(HOUR);
            settled(&servers);
            keys.extend(servers[0].status().active);
            tickets.push((hour, servers[hour % 3].seal().unwrap()));
            // A ticket lives as long as `open_for`, by its server's clock.
            tickets.retain(|(issued, _)| hour - issued < 24);
            for (_, ticket) in &tickets {
                assert!(servers.iter().all(|server| server.opens(ticket)));
            }
        }
        assert!(keys.len() >= 60 / 12, "{} keys in 60 hours", keys.len());
        drop(stop);
    });
    assert!(opened.into_inner() > 1000);
    // Keys that no longer open are gone from the servers, whatever etcd still has.
    assert!(servers.iter().all(|server| server.keys.len() <= 8), "{}", servers[0].keys.len());
}

/// Stops the other threads even if this one fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[test]
fn nothing_is_activated_before_all_have_it() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0), fleet.server(0)];
    settled(&servers);
    let first = servers[0].status().active;
    // A third lives, and never acknowledges anything.
    fleet.write(b"/ring/a/someone", &[1, 0, 0]);
    fleet.pass(HOUR * 7);
    until("the next key is distributed", || {
        servers.iter().all(|server| {
            let status = server.status();
            status.distributing.is_some() && status.waiting_for == 1
        })
    });
    let next = servers[0].status().distributing.unwrap();
    thread::sleep(Duration::from_millis(500));
    for server in &servers {
        assert_eq!((server.status().active, server.keys.len()), (first.clone(), 2));
        assert_eq!(server.seal().unwrap()[1..17], first[0], "the old key goes on");
    }
    // The new one opens already, where it was acknowledged.
    fleet.delete(b"/ring/a/someone");
    until("it is activated", || servers.iter().all(|it| it.status().active.contains(&next)));
    let ticket = servers[0].seal().unwrap();
    assert_eq!(ticket[1..17], next);
    assert!(servers[1].opens(&ticket));

    // A server that is closed is not waited for, nor one that has just died.
    let [first, second] = servers;
    fleet.runtime.block_on(second.ring.close());
    fleet.pass(HOUR * 7);
    let began = Instant::now();
    until("the next is activated", || first.status().active.len() == 3);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let third = fleet.server(0);
    settled(std::slice::from_ref(&third));
    drop(third.ring);
    fleet.pass(HOUR * 7);
    until("the next is activated", || first.status().active.len() == 4);
}

#[test]
fn servers_that_lose_etcd() {
    let mut fleet = Fleet::start(3);
    let endpoints = fleet.cluster.endpoints();
    let leader = fleet.cluster.leader().unwrap();
    let lost = (leader + 1) % 3;
    let servers = [fleet.server(0), fleet.server_at(vec![endpoints[lost].clone()], 0, 7)];
    settled(&servers);
    let [good, cut] = &servers;
    let old = good.seal().unwrap();
    // One loses its member; the other goes on without it, after a while.
    fleet.cluster.stop(lost).unwrap();
    fleet.pass(HOUR * 7);
    until("it is activated", || good.status().active.len() == 2);
    let new = good.seal().unwrap();
    assert_ne!(old[1..17], new[1..17]);
    let of_cut = cut.seal().expect("it goes on with what it has");
    assert!(cut.opens(&old) && good.opens(&of_cut));
    // It may have got the key before it was cut off. Otherwise this is no ticket to it.
    let knows = cut.keys.len() == 2;
    assert_eq!(cut.opens(&new), knows);
    fleet.cluster.go_on(lost).unwrap();
    until("it is back", || cut.opens(&new) && cut.status().active.len() == 2);

    // Nobody has etcd.
    for member in 0..3 {
        fleet.cluster.kill(member).unwrap();
    }
    fleet.pass(HOUR * 2);
    thread::sleep(Duration::from_millis(300));
    for sealing in &servers {
        let ticket = sealing.seal().expect("it goes on with what it has");
        assert!(servers.iter().all(|opening| opening.opens(&ticket)));
    }
    // Until the keys end. Then there are no tickets, and nothing fails.
    fleet.pass(HOUR * 48);
    assert!(servers.iter().all(|server| server.seal().is_none() && !server.opens(&new)));
    for member in 0..3 {
        fleet.cluster.restart(member).unwrap();
    }
    fleet.cluster.wait_for_leader(&[0, 1, 2]).unwrap();
    until("it goes on", || servers.iter().all(|server| server.seal().is_some()));
    settled(&servers);
}

/// A rolling upgrade: newer servers write entries and tickets that this version can't read.
#[test]
fn newer_versions() {
    let fleet = Fleet::start(1);
    let server = [fleet.server(0)];
    settled(&server);
    let [server] = server;
    let mut ticket = server.seal().unwrap();
    fleet.write(b"/ring/next", &[2, 1, 2, 3]);
    fleet.write(b"/ring/k/0123456789abcdef", &[2, 9, 9]);
    fleet.write(b"/ring/a/newer", b"\x02\x00\x01aaaaaaaaaaaaaaaa and more");
    fleet.write(b"/ring/of a later time", b"?");
    until("they are seen", || server.status().unreadable == 2);
    assert!(server.opens(&ticket) && server.seal().is_some());
    assert_eq!(server.status().active.len(), 1);
    // What it can't read it doesn't touch.
    fleet.pass(HOUR * 7);
    let looks = server.status().looks;
    until("it looks", || server.status().looks > looks + 2);
    let kept = fleet.cluster.ask(0, "/v3/kv/range", &json!({ "key": base64(b"/ring/next") }));
    assert_eq!(kept.unwrap()["kvs"][0]["value"], base64(&[2, 1, 2, 3]));
    ticket[0] = 2;
    assert!(!server.opens(&ticket), "a ticket of a newer version is no ticket");
    // The newer servers acknowledge, activate, and write what all can read again.
    fleet.delete(b"/ring/next");
    fleet.delete(b"/ring/a/newer");
    until("it rotates", || server.status().active.len() == 2);

    // Without the right wrapping key there are no ticket keys, and nobody else is harmed.
    let other = fleet.server_at(fleet.cluster.endpoints(), 0, 8);
    until("it sees nothing", || other.status().unreadable == 3);
    assert!(other.seal().is_none() && server.seal().is_some());
}

/// A clock that is wrong by years makes keys that nobody else uses, and destroys none.
#[test]
fn a_clock_that_is_years_ahead() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0)];
    settled(&servers);
    let [right] = servers;
    let ticket = right.seal().unwrap();
    let mad = fleet.server((HOUR.as_secs() / 60 * 24 * 365 * 3) as i64);
    until("it has made its keys", || mad.seal().is_some());
    until("the other sees them", || right.status().active.len() >= 2);
    assert!(right.opens(&ticket) && right.seal().unwrap()[1..17] == ticket[1..17]);
    // The fleet rotates as before.
    let before = right.status().active.len();
    fleet.pass(HOUR * 7);
    until("it rotates", || right.seal().unwrap()[1..17] != ticket[1..17]);
    assert!(right.opens(&ticket) && right.opens(&right.seal().unwrap()));
    thread::sleep(Duration::from_millis(500));
    assert!(right.status().active.len() <= before + 3, "nobody makes keys all the time");
}
