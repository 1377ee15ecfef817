use serde_json::{Value, json};

use super::*;
use crate::evidence::{ForwardSecrecy, IssuingCost, KeyExchange, OneTimeKey};

fn machine() -> Value {
    json!({ "cpu": "a processor", "cores": 2, "kernel": "Linux 6.1" })
}

fn sample(response_us: f64) -> Value {
    json!({
        "tcp_us": 1.0, "first_byte_us": response_us / 2.0, "handshake_us": response_us,
        "response_us": response_us, "client_engine_us": 50.0, "server_engine_us": 40.0,
        "client_cpu_us": 90.0, "server_cpu_us": null,
    })
}

fn columns(response_us: f64) -> Value {
    let sample = sample(response_us);
    let column = |(name, value): (&String, &Value)| (name.clone(), json!([value]));
    sample.as_object().unwrap().iter().map(column).collect()
}

fn reconnect() -> Value {
    let row = |rtt_ms: f64, executions: u32| {
        json!({
            "mode": "0rtt-unguarded", "kx": "x25519", "ticket_key": null, "continuation": null,
            "fast_open": null, "rtt_ms": rtt_ms,
            "samples": [sample(3e3), sample(1e3), sample(2e3)],
            "first_flight": 635, "bytes": { "client": 743, "server": 641 },
            "heap": { "client": 1, "server": 1 },
            "verdicts": {
                "first_byte_fs": "none", "session_fs": "handshake",
                "replay_executions": executions, "pq_confidentiality": true,
            },
        })
    };
    let mut fast_open = row(33.0, 99);
    fast_open["fast_open"] = json!({ "bytes": 600, "taken": 3 });
    json!({
        "experiment": "reconnect", "seed": 1, "machine": machine(),
        "link": {
            "kind": "tun", "loss": 0.0, "loss_burst": 1.0, "congestion": null, "congestion_ms": null,
            "jitter_ms": 0.0, "rate_bps": null, "mtu": 1500,
        },
        "rows": [row(0.0, 61), row(33.0, 58), fast_open],
    })
}

fn roaming() -> Value {
    json!({
        "experiment": "roaming", "seed": 7, "machine": machine(), "revision": "abc", "link": "tun",
        "cells": [{
            "option": "e", "mode": "0rtt-fs-psk", "kx": null, "ticket_key": "one-time-psk",
            "continuation": "psk_ke", "store": "etcd", "suite": "0x1302", "through": "sepp",
            "link": { "name": "50ms", "rtt_ms": 50.0, "loss": 0.01, "loss_burst": 3.0, "congestion": 0.0 },
            "samples": columns(5e4), "failed": 2, "why_failed": { "reset": 2 },
            "round_trips": { "first_byte": 1.0, "response": 2.0 },
            "bytes": { "client": 900, "server": null, "first_flight": 800 },
            "operations": { "client": [], "server": [] },
            "issuing": { "server_us": 12.5, "client_us": 3.5, "bytes": 300 },
            "registration": null, "beside": 0,
        }],
        "not_run": [],
    })
}

#[test]
fn a_report_of_reconnect_is_evidence_of_costs_and_of_what_is_protected() {
    let evidence = Evidence::read(&reconnect().to_string()).unwrap();
    assert_eq!(evidence.sources[0].experiment, "reconnect");
    let way = Way::plain(Letter::D, Some(KeyExchange::X25519));
    let cells: Vec<_> = evidence.plain_cells(way, Setup::Endpoints).collect();
    assert_eq!(cells.len(), 2, "rows with TCP Fast Open are left out");
    let response = cells[1].response_us.unwrap();
    assert_eq!((response.samples, response.median), (3, 2e3));
    assert_eq!((cells[1].client_bytes, cells[1].link.rtt_ms), (Some(743.0), 33.0));
    assert!(cells[1].with_issuing);
    // Without the processor time of the server's process the engines' counts.
    assert_eq!(cells[0].processor_us(), Some(90.0));
    let protection = evidence.protection(way.with_store(Store::Etcd)).unwrap();
    assert_eq!(protection.executions, 61, "the attack that went best");
    assert_eq!(protection.first_byte, ForwardSecrecy::None);
}

#[test]
fn a_report_of_roaming_is_evidence_with_its_link_and_its_issuing() {
    let evidence = Evidence::read(&roaming().to_string()).unwrap();
    let [cell] = evidence.cells.as_slice() else { panic!("{evidence:?}") };
    assert_eq!(cell.way, Way::forward_secret(OneTimeKey::Psk, None).with_store(Store::Etcd));
    assert_eq!((cell.through, cell.failed, cell.with_issuing), (Setup::Sepp, 2, false));
    assert_eq!((cell.link.loss, cell.link.loss_burst), (0.01, 3.0));
    assert!(!cell.link.is_plain());
    assert_eq!(cell.server_bytes, None);
    assert_eq!(evidence.sources[0].revision.as_deref(), Some("abc"));
}

/// Ten that came soon prove nothing if ten others never came.
#[test]
fn reconnections_that_failed_widen_the_interval() {
    let read = |failed: usize| {
        let mut report = roaming();
        let samples = &mut report["cells"][0]["samples"];
        for column in samples.as_object_mut().unwrap().values_mut() {
            *column = json!((1..=20).collect::<Vec<_>>());
        }
        report["cells"][0]["failed"] = json!(failed);
        Evidence::read(&report.to_string()).unwrap().cells.remove(0)
    };
    let interval = |failed| read(failed).response_us.unwrap().interval;
    assert_eq!([0, 5, 10].map(interval), [Some((6.0, 15.0)), Some((8.0, 18.0)), None]);
    let cell = read(10);
    assert_eq!((cell.failed, cell.client_cpu_us.unwrap().interval), (10, Some((6.0, 15.0))));
}

#[test]
fn the_wait_for_a_store_is_no_processor_time() {
    let cell = |store: &str, through: &str| {
        let mut report = roaming();
        report["cells"][0]["store"] = json!(store);
        report["cells"][0]["through"] = json!(through);
        Evidence::read(&report.to_string()).unwrap().cells.remove(0)
    };
    let issuing = Some(IssuingCost { server_us: 12.5, client_us: 3.5, bytes: 300.0 });
    for through in ["engine", "endpoints", "sepp"] {
        let (memory, etcd) = (cell("memory", through), cell("etcd", through));
        assert_eq!((memory.issuing, memory.processor_us()), (issuing, Some(90.0)), "{through}");
        assert_eq!((etcd.issuing, etcd.client_engine_us), (None, memory.client_engine_us));
        // Between processes the lab measures processor time; in one process wall-clock time.
        let engine = (through != "engine").then_some(90.0);
        assert_eq!(etcd.processor_us(), engine, "{through}");
    }
    let evidence = Evidence { cells: vec![cell("etcd", "engine")], ..Evidence::default() };
    let way = Way::forward_secret(OneTimeKey::Psk, None).with_store(Store::Etcd);
    assert_eq!(evidence.ticket(way, 0.0), None);
}

#[test]
fn rows_of_reconnect_over_a_link_that_is_not_plain_are_left_out() {
    for (member, value) in [
        ("loss", json!(0.01)),
        ("congestion", json!(0.05)),
        ("congestion_ms", json!(2.0)),
        ("jitter_ms", json!(5.0)),
        ("rate_bps", json!(2_000_000)),
        ("mtu", json!(1280)),
    ] {
        let mut report = reconnect();
        report["link"][member] = value;
        let evidence = Evidence::read(&report.to_string()).unwrap();
        assert_eq!(evidence, Evidence::default(), "{member}");
        // A link that a report doesn't describe doesn't count as plain either.
        report["link"].as_object_mut().unwrap().remove(member);
        let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
        assert!(refused.contains(&format!("missing field `{member}`")), "{refused}");
    }
    assert_eq!(Evidence::read(&reconnect().to_string()).unwrap().cells.len(), 2);
}

fn load() -> Value {
    json!({
        "experiment": "load", "seed": 7, "machine": machine(), "revision": null, "link": "tun",
        "cells": [{
            "option": "e", "mode": "0rtt-fs", "kx": null, "ticket_key": "x25519", "continuation": "psk_ke",
            "store": "memory", "suite": "0x1301", "kind": "storm", "users": 1000, "rtt_ms": 134.0,
            "reconnections": 1, "tickets": 1020, "failed": 0, "why_failed": {}, "requests": 1000, "seconds": 1.0,
            "requests_per_second": 1000.0,
            "first_accepted_us": [[200.0, 499], [300.0, 490], [400.0, 11]], "response_us": [],
            "registration_us": [], "server_cpu_us_per_connection": 120.0,
            "server_tls_us_per_connection": 80.0, "client_cpu_us_per_connection": 150.0,
            "server_memory_bytes": 1, "vault_bytes": 183_600,
        }],
        "growth": [], "not_run": [],
    })
}

#[test]
fn a_report_of_load_is_evidence_of_storms() {
    let evidence = Evidence::read(&load().to_string()).unwrap();
    let [load] = evidence.loads.as_slice() else { panic!("{evidence:?}") };
    assert_eq!(load.way, Way::forward_secret(OneTimeKey::X25519, None));
    assert_eq!((load.storm, load.users, load.server_tls_us), (true, 1000, 80.0));
    assert_eq!(load.first_accepted_us, Some(300.0));
    assert_eq!(load.first_accepted_p99_us, Some(400.0));
    // Tickets come in packs: 34 of 30 for 1,000 connections.
    assert_eq!((load.tickets, load.held_bytes), (1_020, Some(180.0)));
}

#[test]
fn the_rounds_of_a_storm_are_one_load_with_their_median() {
    let mut report = load();
    let rounds = [30.0, 90.0, 40.0, 1.0].into_iter().zip(1..).map(|(us, round)| {
        let mut cell = report["cells"][0].clone();
        cell["round"] = json!(round);
        cell["server_tls_us_per_connection"] = json!(us);
        if round == 2 {
            cell["first_accepted_us"] = json!([[100.0, 400], [200.0, 600]]);
        }
        if round == 4 {
            // It doesn't count: it did little work for too few.
            cell["failed"] = json!(100);
            cell["first_accepted_us"] = json!([[100.0, 900]]);
        }
        cell
    });
    report["cells"] = rounds.collect();
    let evidence = Evidence::read(&report.to_string()).unwrap();
    let [load] = evidence.loads.as_slice() else { panic!("{evidence:?}") };
    assert_eq!((load.failed, load.users, load.server_tls_us), (0, 1000, 40.0));
    // Of 3,000: 400 at 100 µs, 1,598 at 200 µs.
    assert_eq!(load.first_accepted_us, Some(200.0));
    report["cells"][2]["round"] = json!(1);
    let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
    assert!(refused.contains("cells[2]"), "{refused}");
    report["cells"][2]["round"] = json!(3);
    report["cells"][2]["server_tls_us_per_connection"] = json!(-1.0);
    let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
    assert!(refused.contains("cells[2]") && refused.contains("is -1"), "{refused}");
}

#[test]
fn without_tickets_the_bytes_of_one_are_unknown() {
    let mut report = load();
    report["cells"][0]["tickets"] = json!(0);
    assert_eq!(Evidence::read(&report.to_string()).unwrap().loads[0].held_bytes, None);
    report["cells"][0].as_object_mut().unwrap().remove("tickets");
    let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
    assert!(refused.contains("missing field `tickets`"), "{refused}");
}

#[test]
fn newer_evidence_about_a_way_takes_the_place_of_older() {
    let old = Evidence::read(&reconnect().to_string()).unwrap();
    let mut newer = reconnect();
    newer["rows"].as_array_mut().unwrap().truncate(1);
    let newer = Evidence::read(&newer.to_string()).unwrap();
    let both = old.clone().and(Evidence::read(&roaming().to_string()).unwrap());
    assert_eq!((both.cells.len(), both.sources.len()), (3, 2));
    let replaced = old.and(newer);
    assert_eq!((replaced.cells.len(), replaced.protections.len()), (1, 1));
}

#[test]
fn malformed_evidence_is_refused_with_the_member() {
    let refused = |report: &Value| Evidence::read(&report.to_string()).unwrap_err().to_string();
    assert!(Evidence::read("").unwrap_err().to_string().contains("EOF"));
    assert!(refused(&json!({})).contains("experiment"));
    let other = json!({ "experiment": "sites", "seed": 1, "machine": machine() });
    assert!(refused(&other).starts_with("experiment: `sites`"));
    let mut wrong = roaming();
    wrong["cells"][0]["samples"]["response_us"][0] = json!("soon");
    assert!(refused(&wrong).contains("cells[0].samples.response_us[0]"), "{}", refused(&wrong));
    let mut wrong = roaming();
    wrong["cells"][0]["samples"]["first_byte_us"] = json!([1.0, 2.0]);
    assert!(refused(&wrong).starts_with("cells[0].samples: column `"), "{}", refused(&wrong));
    let mut wrong = roaming();
    wrong["cells"][0]["samples"]["weight"] = json!([1.0]);
    assert!(refused(&wrong).contains("`weight`"), "{}", refused(&wrong));
    let mut wrong = reconnect();
    wrong["rows"][1]["verdicts"]["first_byte_fs"] = json!("sometimes");
    assert!(refused(&wrong).contains("rows[1].verdicts.first_byte_fs"), "{}", refused(&wrong));
}

/// Each of these is a number from manual editing or a broken program.
#[test]
fn an_impossible_report_is_refused_with_the_cell() {
    type Report = fn() -> Value;
    let cases: [(Report, &str, Value, &str); 20] = [
        (reconnect, "/rows/1/samples/2/response_us", json!(-5.0), "rows[1], (d) 0-RTT"),
        (reconnect, "/rows/0/samples/0/server_cpu_us", json!(1e300), "sample 1: server_cpu_us is"),
        (reconnect, "/rows/0/rtt_ms", json!(-1.0), "rtt_ms is -1, and no run writes less than 0"),
        (reconnect, "/rows/0/bytes/server", json!(-1), "bytes.server is -1"),
        (reconnect, "/rows/1/rtt_ms", json!(0.0), "at 0 ms occurs twice"),
        (roaming, "/cells/0/samples/response_us/0", json!(-1), "sample 1: response_us is -1"),
        (roaming, "/cells/0/samples/client_engine_us/0", json!(4e9), "client_engine_us is"),
        (roaming, "/cells/0/link/rtt_ms", json!(1e300), "rtt_ms is"),
        (roaming, "/cells/0/link/loss", json!(1.5), "loss is 1.5"),
        (roaming, "/cells/0/link/congestion", json!(-0.5), "congestion is -0.5"),
        (roaming, "/cells/0/bytes/first_flight", json!(-1), "first_flight is -1"),
        (load, "/cells/0/server_cpu_us_per_connection", json!(-1), "server_cpu_us_per_connection"),
        (load, "/cells/0/server_tls_us_per_connection", json!(1e12), "server_tls_us_per_conn"),
        (load, "/cells/0/vault_bytes", json!(-1_020), "vault_bytes is -1"),
        (load, "/cells/0/users", json!(0), "no load has 0 users with 1 reconn"),
        (load, "/cells/0/reconnections", json!(u64::MAX), "no load has 1000 users with 18446"),
        (load, "/cells/0/failed", json!(1_001), "of 1000 at 134 ms: 1001 of 1000 failed"),
        (load, "/cells/0/first_accepted_us/0/0", json!(-1), "first_accepted_us is -1"),
        (load, "/cells/0/first_accepted_us/0/1", json!(u64::MAX), "first_accepted_us has"),
        (load, "/cells/0/first_accepted_us/0/0", json!(350.0), "is not in order"),
    ];
    for (report, member, wrong, words) in cases {
        let mut report = report();
        assert!(Evidence::read(&report.to_string()).is_ok());
        *report.pointer_mut(member).unwrap() = wrong;
        let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
        assert!(refused.contains(words), "{member}: {refused}");
    }
    // The same cell with another suite, link or kind is a different one.
    for (report, member, other) in [
        (roaming as Report, "/cells/1/suite", json!("0x1301")),
        (roaming, "/cells/1/through", json!("endpoints")),
        (roaming, "/cells/1/link/rtt_ms", json!(51.0)),
        (roaming, "/cells/1/link/loss", json!(0.0)),
        (load, "/cells/1/suite", json!("0x1302")),
        (load, "/cells/1/kind", json!("users")),
        (load, "/cells/1/users", json!(1_001)),
        (load, "/cells/1/rtt_ms", json!(0.0)),
    ] {
        let mut report = report();
        let cell = report["cells"][0].clone();
        report["cells"].as_array_mut().unwrap().push(cell);
        let refused = Evidence::read(&report.to_string()).unwrap_err().to_string();
        assert!(refused.starts_with("cells[1], (e) "), "{refused}");
        assert!(refused.ends_with(" occurs twice; a run has it once"), "{refused}");
        *report.pointer_mut(member).unwrap() = other;
        assert!(Evidence::read(&report.to_string()).is_ok(), "{member}");
    }
}

/// The limits are wider than what runs write.
#[test]
fn the_recorded_reports_are_evidence() {
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results");
    let evidence = Evidence::in_directory(std::path::Path::new(results)).unwrap();
    assert!(evidence.cells.len() > 100 && evidence.loads.len() > 10);
}

#[test]
fn advice_reads_plain_links_and_one_suite() {
    let mut report = roaming();
    let lossy = report["cells"][0].clone();
    let plain = |suite: &str, rtt_ms: f64| {
        let mut cell = lossy.clone();
        cell["suite"] = json!(suite);
        cell["link"]["loss"] = json!(0.0);
        cell["link"]["rtt_ms"] = json!(rtt_ms);
        cell
    };
    report["cells"] =
        json!([lossy, plain("0x1302", 0.0), plain("0x1301", 0.0), plain("0x1302", 33.0)]);
    let evidence = Evidence::read(&report.to_string()).unwrap();
    let read = evidence.for_advice();
    assert_eq!((evidence.cells.len(), read.cells.len()), (4, 2));
    assert!(read.cells.iter().all(|cell| cell.suite.as_deref() == Some("0x1302")));
    assert_eq!(read.for_advice(), read);
}
