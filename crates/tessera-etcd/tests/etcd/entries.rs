//! The entries of a ring in etcd, tampered with: moved, retained or unreadable ones; lost answers; a server that starts
//! at the wrong moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::between::{Fate, between};
use crate::common::rings::{Fleet, HOUR, Server, base64, settled, until};
use serde_json::{Value, json};

use crate::common;

/// A live server that never acknowledges anything.
const SOMEONE: &[u8] = b"/ring/a/someone";

fn block(fleet: &Fleet) {
    fleet.write(SOMEONE, &[1, 0, 0]);
}

/// Blocks activation, and waits until a key is distributed.
fn distributed(fleet: &Fleet, servers: &[Server]) -> [u8; 16] {
    block(fleet);
    fleet.pass(HOUR * 7);
    until("the next key is distributed", || {
        servers.iter().all(|server| server.status().distributing.is_some())
    });
    servers[0].status().distributing.unwrap()
}

fn named(id: &[u8; 16]) -> Vec<u8> {
    [b"/ring/k/", &id[..]].concat()
}

/// Waits until a server has read the present contents of etcd.
fn looked(server: &Server) {
    let looks = server.status().looks;
    until("it looks", || server.status().looks > looks + 2);
}

#[test]
fn a_ring_entry_counts_only_where_it_was_written() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0), fleet.server(0)];
    settled(&servers);
    let first = servers[0].active();
    let next = distributed(&fleet, &servers);
    // A writer copies a key that not all servers have to the name of an active one.
    let (value, _) = fleet.read(b"/ring/next").unwrap();
    fleet.copy(&named(&next), &value);
    looked(&servers[0]);
    assert_eq!((servers[0].active(), servers[0].status().unreadable), (first.clone(), 1));
    assert_eq!(servers[0].seal().unwrap()[1..17], first[0]);
    fleet.delete(&named(&next));
    // Under another name the same key would occur twice, which a ring rejects.
    let (value, _) = fleet.read(&named(&first[0])).unwrap();
    fleet.copy(b"/ring/k/0123456789abcdef", &value);
    looked(&servers[0]);
    assert_eq!(servers[0].status().unreadable, 1);
    // The servers are unaffected.
    fleet.delete(SOMEONE);
    until("it is activated", || servers.iter().all(|it| it.active().contains(&next)));
    // An active key is not distributed again.
    let (value, _) = fleet.read(&named(&next)).unwrap();
    fleet.copy(b"/ring/next", &value);
    looked(&servers[0]);
    assert_eq!(servers[0].status().distributing, None);
}

/// A key that was distributed long ago is restored from etcd's history.
#[test]
fn an_old_ticket_key_gets_no_second_life() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0), fleet.server(0)];
    settled(&servers);
    let old = distributed(&fleet, &servers);
    let (value, _) = fleet.read(b"/ring/next").unwrap();
    fleet.delete(SOMEONE);
    until("it is activated", || servers[0].active().contains(&old));
    for _ in 0..7 {
        fleet.pass(HOUR * 7);
        settled(&servers);
    }
    fleet.delete(&named(&old));
    fleet.copy(b"/ring/next", &value);
    until("another is distributed", || {
        fleet.read(b"/ring/next").is_some_and(|(next, _)| next != value)
    });
    fleet.pass(HOUR * 7);
    settled(&servers);
    assert!(!servers[0].active().contains(&old));
    assert_ne!(servers[0].status().distributing, Some(old));
}

/// A key that is never activated makes room for another, and active keys expire.
#[test]
fn everything_of_a_ring_in_etcd_expires_by_its_lease() {
    let mut fleet = Fleet::start(1);
    fleet.options.rotation.issue_for = Duration::from_secs(8);
    let servers = [fleet.server(0)];
    settled(&servers);
    let active = servers[0].active()[0];
    let ttl = |name: &[u8]| {
        let (_, lease) = fleet.read(name).unwrap();
        let asked = json!({ "ID": lease });
        let answer = fleet.cluster.ask(0, "/v3/lease/timetolive", &asked).unwrap();
        answer["grantedTTL"].as_str().and_then(|ttl| ttl.parse::<u64>().ok())
    };
    let longest = HOUR.as_secs() * 25;
    assert!(
        ttl(&named(&active)).is_some_and(|ttl| (longest - HOUR.as_secs()..longest).contains(&ttl))
    );
    let first = distributed(&fleet, &servers);
    assert_eq!(ttl(b"/ring/next"), Some(6));
    until("another is distributed", || {
        let next = servers[0].status().distributing;
        next.is_some_and(|next| next != first)
    });
    fleet.delete(SOMEONE);
    until("it is activated", || servers[0].status().active.len() == 2);
}

/// A server that starts after all others have acknowledged, and before the key is activated.
#[test]
fn a_server_that_joins_before_activation_is_waited_for() {
    let fleet = Fleet::start(1);
    let member = fleet.cluster.endpoints().remove(0);
    let armed = Arc::new(AtomicBool::new(false));
    let (watched, other) = (armed.clone(), member.clone());
    let address = between(member, move |request| {
        // The lease of an active key is granted right before its activation.
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let ttl = body["TTL"].as_str().and_then(|ttl| ttl.parse::<u64>().ok()).unwrap_or(0);
        if ttl > HOUR.as_secs() * 24 && watched.swap(false, Ordering::Relaxed) {
            let body = json!({ "key": base64(SOMEONE), "value": base64(&[1, 0, 0]) });
            common::between::write(&other, "/v3/kv/put", &body.to_string());
        }
        Fate::Answered
    });
    let servers = [fleet.server_at(vec![address], 0, 7)];
    settled(&servers);
    armed.store(true, Ordering::Relaxed);
    fleet.pass(HOUR * 7);
    until("the key is about to be activated", || !armed.load(Ordering::Relaxed));
    looked(&servers[0]);
    let status = servers[0].status();
    assert_eq!((status.active.len(), status.waiting_for), (1, vec!["someone".to_owned()]));
    fleet.delete(SOMEONE);
    until("it is activated", || servers[0].status().active.len() == 2);
}

/// A third of all answers is lost, after etcd has executed the requests.
#[test]
fn a_ring_rotates_though_a_third_of_etcds_answers_is_lost() {
    let fleet = Fleet::start(1);
    let asked = Arc::new(AtomicUsize::new(0));
    let server = || {
        let asked = asked.clone();
        let address = between(fleet.cluster.endpoints().remove(0), move |_| {
            // Irregular, so that the servers don't fall into step with it.
            let number = asked.fetch_add(1, Ordering::Relaxed) as u32;
            match (number.wrapping_mul(0x9e37_79b9) >> 16) % 3 {
                0 => Fate::AnswerLost,
                _ => Fate::Answered,
            }
        });
        fleet.server_at(vec![address], 0, 7)
    };
    let servers = [server(), server()];
    settled(&servers);
    for _ in 0..4 {
        let before = servers[0].status().active[0];
        fleet.pass(HOUR * 7);
        until("it rotates", || servers.iter().all(|it| it.status().active[0] != before));
        settled(&servers);
        for sealing in &servers {
            let ticket = sealing.seal().unwrap();
            assert!(servers.iter().all(|opening| opening.opens(&ticket)));
        }
    }
}

/// Changes are noticed without polling, even after etcd has compacted its history.
#[test]
fn all_servers_of_a_ring_learn_changes_by_watching() {
    let mut fleet = Fleet::start(1);
    fleet.options.look_every = HOUR;
    let servers = [fleet.server(0), fleet.server(0)];
    let all_have = |count| {
        until("all have read it", || {
            servers.iter().all(|server| {
                let status = server.status();
                status.active.len() == count && status.waiting_for.is_empty()
            })
        });
    };
    all_have(1);
    for count in 2..4 {
        fleet.pass(HOUR * 7);
        fleet.write(b"/ring/something", b"changed");
        all_have(count);
        let answer = fleet.cluster.ask(0, "/v3/kv/range", &json!({ "key": base64(b"x") })).unwrap();
        let revision = answer["header"]["revision"].clone();
        fleet.cluster.ask(0, "/v3/kv/compaction", &json!({ "revision": revision })).unwrap();
    }
}

/// A server whose entry was deleted writes it again.
#[test]
fn a_server_whose_entry_was_deleted_writes_it_again() {
    let fleet = Fleet::start(1);
    let servers = [fleet.server(0), fleet.server(0)];
    settled(&servers);
    let (from, to) = (base64(b"/ring/a/"), base64(b"/ring/a0"));
    let range = json!({ "key": from, "range_end": to });
    let words = || {
        let answer = fleet.cluster.ask(0, "/v3/kv/range", &range).unwrap();
        answer["kvs"].as_array().cloned().unwrap_or_default()
    };
    let count = || words().len();
    assert_eq!(count(), 2);
    // Its lease is renewed: the entry is never absent.
    let before = words();
    thread::sleep(fleet.options.counts_as_live_for * 3 / 2);
    assert_eq!(words(), before);
    fleet.cluster.ask(0, "/v3/kv/deleterange", &range).unwrap();
    until("both live again", || count() == 2);
    thread::sleep(Duration::from_millis(300));
    assert_eq!(count(), 2);
}
