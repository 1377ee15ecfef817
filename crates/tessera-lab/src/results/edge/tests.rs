//! Tables of reports whose numbers are known.

use serde_json::{Value, json};

use super::all;
use super::gap;
use super::input::Inputs;
use crate::edge::samples;
use crate::table::Table;

fn boring() -> Value {
    let row = |operation: &str, library: &str, us: f64| json!({ "operation": operation, "library": library, "us": vec![us; 7] });
    let names = [
        ("x25519 key generation", 10.0),
        ("x25519 shared secret", 30.0),
        ("x25519 key generation and shared secret", 40.0),
        ("hybrid key generation", 50.0),
        ("hybrid encapsulation", 60.0),
        ("hybrid decapsulation", 50.0),
        ("rsa-2048 chain", 50.0),
        ("rsa-2048 CertificateVerify", 30.0),
        ("rsa-2048 signature", 500.0),
        ("p-256 signature", 14.0),
    ];
    let rows = names
        .iter()
        .flat_map(|(name, us)| [row(name, "boring", *us), row(name, "tessera", us / 2.0)]);
    json!({
        "experiment": "edge-boring", "boring": "5.4.0", "revision": "abc", "load": 0.1, "calls": 100,
        "machine": { "cpu": "a processor", "cores": 2, "kernel": "Linux" },
        "operations": rows.collect::<Vec<_>>(),
    })
}

fn envoy() -> Value {
    let cell = |way: &str, kx: &str, hello: u64, server: u64, ticket: u64| {
        json!({
            "way": way, "kx": kx, "certificates": "rsa-2048", "hello": hello, "client": hello + 64, "server": server,
            "tickets": 482, "ticket": ticket, "handshake_us": vec![500.0; 7],
        })
    };
    json!({
        "experiment": "edge-envoy", "envoy": "1.40.0", "go": "go1.26", "revision": null, "load": 0.1, "connections": 100,
        "machine": { "cpu": "a processor", "cores": 2, "kernel": "Linux" },
        "chains": { "rsa-2048": [818, 804] },
        "cells": [
            cell("full", "x25519", 270, 2113, 0),
            cell("full", "x25519mlkem768", 1454, 3201, 0),
            cell("resumed", "x25519", 525, 218, 208),
            cell("resumed", "x25519mlkem768", 1709, 1500, 208),
        ],
    })
}

fn inputs() -> Inputs {
    let mut report = samples::report();
    let mut loopback = report.cells.clone();
    loopback.iter_mut().for_each(|cell| cell.name.link = None);
    report.cells.extend(loopback);
    let report = serde_json::to_string(&report).unwrap();
    let [boring, envoy] = [boring(), envoy()].map(|it| it.to_string());
    let mut inputs = Inputs::of(Some(&report), Some(&boring), Some(&envoy))
        .unwrap_or_else(|(name, what)| panic!("{name}: {what}"));
    inputs.gap = gap::tests::gap();
    inputs
}

fn table(name: &str) -> Table {
    let (_, table) = all(&inputs()).into_iter().find(|(known, _)| *known == name).unwrap();
    table.unwrap()
}

#[test]
fn every_table_is_made_of_whole_reports_and_none_of_nothing() {
    for (name, table) in all(&inputs()) {
        let table = table.unwrap_or_else(|| panic!("no table {name}"));
        let width = table.columns.len();
        assert!(!table.rows.is_empty() || name == "failed", "{name}");
        assert!(table.rows.iter().all(|row| row.cells.len() + table.names == width), "{name}");
    }
    for (name, table) in all(&Inputs::default()) {
        assert_eq!(table, None, "{name}");
    }
}

#[test]
fn the_papers_numbers_are_next_to_those_of_boringssl_and_tessera() {
    let table = table("answers");
    let texts = |name| table.texts(name);
    assert_eq!(texts("ClientHello, X25519"), ["about 240 B", "265 B", "195 B"]);
    assert_eq!(texts("a ticket adds to the ClientHello"), ["250 B", "255 B", "250 B"]);
    // 743 of 2,383 bytes, and 1,225 of 2,865; 550 of 2,200, and 750 of 2,400.
    assert_eq!(
        texts("of the full handshake, X25519"),
        ["27 %", "31.2 % (42.8 %)", "25.0 % (31.2 %)"]
    );
    let client = "the client's key exchange: X25519MLKEM768 over X25519";
    assert_eq!(texts(client), ["about 2×", "2.50×", "1.00×"]);
    let over = "certificate validation over key exchange, X25519MLKEM768";
    assert_eq!(texts(over), ["dominates", "0.80×", "1.00×"]);
    assert_eq!(texts("the proxy's signature, ECDSA P-256"), ["not there", "14 µs", "–"]);
}

#[test]
fn companions_cost_as_often_as_there_are_neighbours() {
    let table = table("companions");
    assert_eq!(table.texts("1, X25519")[0], "150");
    assert_eq!(table.texts("8, X25519")[0], "1,200");
    // A key takes 10 µs to make, and 10 to put; the engine 100 for a resumption.
    assert_eq!(table.texts("4, X25519MLKEM768")[2..], ["80.0", "0.80×"]);
}

#[test]
fn a_rate_has_its_share_of_a_processor_and_moves_are_counted_by_outcome() {
    // 2 ms, a hundred times a second.
    let rate = table("rates").texts("rsa-2048, full, X25519");
    assert_eq!((&*rate[0], &*rate[1], &*rate[4]), ("100", "99.5", "20.0 %"));
    assert!(table("rate").texts("full, X25519")[0].starts_with("2,000"));
    let rotation = table("rotation").texts("rsa-2048, resumed, X25519");
    assert_eq!(rotation, ["10", "1,000", "990", "10", "0", "99.00 %", "500"]);
}

#[test]
fn the_page_has_the_gaps_if_they_were_measured() {
    let page = super::page(&inputs()).unwrap();
    assert_eq!(page.matches("<h2 id=\"gap\">").count(), 1);
    assert!(page.contains("Firefox, two Envoys, 33 ms"));
    let inputs = Inputs { gap: None, ..inputs() };
    assert!(!super::page(&inputs).unwrap().contains("id=\"gap\""));
}

#[test]
fn bytes_that_are_off_are_no_target_reached() {
    let table = table("targets");
    assert_eq!(table.texts("ClientHello, X25519"), ["265 B", "265 B", "yes"]);
    assert_eq!(table.texts("a ticket adds to the ClientHello, X25519"), ["255 B", "255 B", "yes"]);
    assert_eq!(table.texts("resumed, X25519MLKEM768: both flights"), ["3,209 B", "3,015 B", "no"]);
}

#[test]
fn a_report_that_no_run_wrote_is_refused() {
    let refused = |boring: Option<Value>, envoy: Option<Value>, words: &str| {
        let [boring, envoy] = [boring, envoy].map(|it| it.map(|it| it.to_string()));
        let (_, what) = Inputs::of(None, boring.as_deref(), envoy.as_deref()).err().unwrap();
        assert!(what.contains(words), "{what}");
    };
    let changed = |mut report: Value, at: &str, value: Value| {
        *report.pointer_mut(at).unwrap() = value;
        Some(report)
    };
    refused(changed(boring(), "/experiment", "edge".into()), None, "of the experiment `edge`");
    refused(changed(boring(), "/operations/0/us", json!([])), None, "no sample");
    refused(changed(boring(), "/operations/0/us/0", json!(-1.0)), None, "is -1 µs");
    refused(
        changed(boring(), "/operations/2/operation", "x25519 key generation".into()),
        None,
        "occurs twice",
    );
    refused(None, changed(envoy(), "/cells/0/hello", 0.into()), "impossible bytes");
    refused(None, changed(envoy(), "/cells/1/kx", "x25519".into()), "occurs twice");
}
