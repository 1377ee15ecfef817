//! The ring in etcd: rotation in two phases, wrong clocks, slow servers, mixed versions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::rings::{Fleet, HOUR, base64, settled, until};
use serde_json::json;

#[test]
fn a_ring_rotates_though_its_servers_clocks_are_wrong() {
    let fleet = Fleet::start(3);
    let servers: Vec<_> = [0, 5, -5].into_iter().map(|ahead| fleet.server(ahead)).collect();
    settled(&servers);
    let running = AtomicBool::new(true);
    let opened = AtomicU64::new(0);
    thread::scope(|scope| {
        // At all times, each server's tickets open at each other at once.
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
            keys.extend(servers[0].active());
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
    assert!(servers.iter().all(|server| server.keys.len() <= 9), "{}", servers[0].keys.len());
}

/// Stops the other threads even if this one panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[test]
fn no_ticket_key_is_activated_before_all_servers_have_it() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0), fleet.server(0)];
    settled(&servers);
    let first = servers[0].active();
    let next = servers[0].status().distributing.unwrap();
    // A third server is live, and never acknowledges anything.
    fleet.write(b"/ring/a/someone", &[1, 0, 0]);
    until("it is waited for", || {
        servers.iter().all(|server| server.status().waiting_for == ["someone"])
    });
    fleet.pass(HOUR * 7);
    thread::sleep(Duration::from_millis(500));
    for server in &servers {
        assert_eq!((server.active(), server.keys.len()), (first.clone(), 2));
        assert_eq!(server.seal().unwrap()[1..17], first[0], "the old key goes on");
    }
    // The new key already opens wherever it was acknowledged.
    fleet.delete(b"/ring/a/someone");
    until("it is activated", || servers.iter().all(|it| it.active().contains(&next)));
    let ticket = servers[0].seal().unwrap();
    assert_eq!(ticket[1..17], next);
    assert!(servers[1].opens(&ticket));

    // The others wait neither for a server that was closed nor for one that has just died.
    let [first, second] = servers;
    fleet.runtime.block_on(second.ring.close());
    fleet.pass(HOUR * 7);
    let began = Instant::now();
    until("the next is activated", || first.active().len() == 3);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let third = fleet.server(0);
    settled(std::slice::from_ref(&third));
    drop(third.ring);
    fleet.pass(HOUR * 7);
    until("the next is activated", || first.active().len() == 4);
}

#[test]
fn a_server_that_loses_etcd_keeps_its_ticket_keys_and_catches_up() {
    let mut fleet = Fleet::start(3);
    let endpoints = fleet.cluster.endpoints();
    let leader = fleet.cluster.leader().unwrap();
    let lost = (leader + 1) % 3;
    let servers = [fleet.server(0), fleet.server_at(vec![endpoints[lost].clone()], 0, 7)];
    settled(&servers);
    let [good, cut] = &servers;
    let old = good.seal().unwrap();
    // One server loses its member; after a while the other continues without it.
    fleet.cluster.stop(lost).unwrap();
    fleet.pass(HOUR * 7);
    until("it is activated", || good.active().len() == 2);
    let new = good.seal().unwrap();
    assert_ne!(old[1..17], new[1..17]);
    let of_cut = cut.seal().expect("it goes on with what it has");
    assert!(cut.opens(&old) && good.opens(&of_cut));
    // It had the key before it was cut off, and opens it.
    assert!(cut.opens(&new));
    fleet.cluster.go_on(lost).unwrap();
    until("it is back", || cut.opens(&new) && cut.active().len() == 2);

    // No server can reach etcd.
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
fn a_ring_ignores_entries_and_tickets_of_newer_versions() {
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
    assert_eq!(server.active().len(), 1);
    // It leaves entries alone that it can't read.
    fleet.pass(HOUR * 7);
    let looks = server.status().looks;
    until("it looks", || server.status().looks > looks + 2);
    let kept = fleet.cluster.ask(0, "/v3/kv/range", &json!({ "key": base64(b"/ring/next") }));
    assert_eq!(kept.unwrap()["kvs"][0]["value"], base64(&[2, 1, 2, 3]));
    ticket[0] = 2;
    assert!(!server.opens(&ticket), "a ticket of a newer version is no ticket");
    // The newer servers acknowledge, activate, and then write entries that all can read.
    fleet.delete(b"/ring/next");
    fleet.delete(b"/ring/a/newer");
    until("it rotates", || server.active().len() == 2);

    // A server with the wrong wrapping key has no ticket keys, and the others are unaffected.
    let other = fleet.server_at(fleet.cluster.endpoints(), 0, 8);
    until("it sees nothing", || other.status().unreadable == 4);
    assert!(other.seal().is_none() && server.seal().is_some());
}

/// A clock that is wrong by years makes keys that no other server uses, and destroys none.
#[test]
fn a_server_whose_clock_is_years_ahead_destroys_no_ticket_keys() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0)];
    settled(&servers);
    let [right] = servers;
    let ticket = right.seal().unwrap();
    let mad = fleet.server((HOUR.as_secs() / 60 * 24 * 365 * 3) as i64);
    until("it has made its keys", || mad.seal().is_some());
    until("the other sees them", || right.active().len() >= 2);
    assert!(right.opens(&ticket) && right.seal().unwrap()[1..17] == ticket[1..17]);
    // The fleet rotates as before.
    let before = right.active().len();
    fleet.pass(HOUR * 7);
    until("it rotates", || right.seal().unwrap()[1..17] != ticket[1..17]);
    assert!(right.opens(&ticket) && right.opens(&right.seal().unwrap()));
    thread::sleep(Duration::from_millis(500));
    assert!(right.active().len() <= before + 3, "no server makes keys all the time");
}
