//! `tessera lab traffic`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tessera_test_peers::Directory;

const OPTIONS: [&str; 6] = ["a", "b", "c", "d", "d'", "e"];
const PADDING: i64 = 512;
/// What TLS adds to the content of a protected record: header, type and tag (RFC 8446 §5.2).
const OVERHEAD: i64 = 5 + 1 + 16;

fn traffic(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "traffic"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// Runs with the emulated link; `None` only if the machine forbids it, which must not happen to root.
fn report(arguments: &[&str]) -> Option<Value> {
    let output = traffic(&[arguments, &["--link", "tun", "--json", "-"]].concat());
    if !tessera_test_peers::has_link(&output) {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("what distinguishes the options"), "the tables: {stderr}");
    Some(serde_json::from_slice(&output.stdout).expect("standard output is the report alone"))
}

/// A few settings and a fixed seed; checks everything that other programs may rely on.
#[test]
fn the_traffic_report_has_every_flow_and_every_table() {
    let options = ["--rtt", "0,3ms", "--padding", "0,512", "--repetitions", "4", "--seed", "7"];
    let Some(report) = report(&options) else { return };
    assert_eq!(report["experiment"], "traffic");
    assert_eq!(report["seed"], 7);
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    assert_eq!(report["link"]["kind"], "tun");

    let flows = report["flows"].as_array().expect("flows");
    let mut counts: HashMap<String, usize> = HashMap::new();
    for flow in flows {
        check_flow(flow);
        let setting = format!("{} {} {}", flow["option"], flow["padding"], flow["rtt_ms"]);
        *counts.entry(setting).or_default() += 1;
    }
    assert_eq!(counts.len(), OPTIONS.len() * 4);
    assert!(counts.values().all(|count| *count == 4), "{counts:?}");

    let tables = report["confusion"]["tables"].as_array().expect("tables");
    assert_eq!(report["confusion"]["folds"], 4);
    assert_eq!(tables.len(), 4 * 4);
    for table in tables {
        check_table(table);
    }
    check_costs(report["costs"].as_array().expect("costs"));
}

/// Checks that the records are those that the engine sends in this option.
fn check_flow(flow: &Value) {
    let option = flow["option"].as_str().expect("an option");
    assert!(OPTIONS.contains(&option), "{option}");
    assert_eq!((&flow["store"], &flow["suite"]), (&"memory".into(), &"0x1302".into()));
    assert_eq!(flow["ticket_key"].is_null(), option != "e", "{flow}");
    let records: Vec<(i64, u64)> =
        serde_json::from_value(flow["sizes_and_times"].clone()).expect("sizes and times");
    let plaintext: Vec<usize> = serde_json::from_value(flow["plaintext"].clone()).expect("places");
    // The hellos, and the ChangeCipherSpec of each side.
    assert_eq!(plaintext.len(), 4, "{flow}");
    assert!(records[0].0 > 0 && plaintext[0] == 0, "the ClientHello is first: {flow}");
    assert!(records.is_sorted_by_key(|(_, us)| us), "{flow}");
    // Early data passes before any answer.
    let first_answer = records.iter().position(|(size, _)| *size < 0).expect("an answer");
    let has_early_data = ["d", "d'", "e"].contains(&option);
    assert_eq!(first_answer, if has_early_data { 3 } else { 1 }, "{flow}");
    // At the client's end a round trip passes before the answer.
    let rtt_us = flow["rtt_ms"].as_f64().expect("a time") * 1e3;
    assert!((records[first_answer].1 - records[0].1) as f64 >= rtt_us, "{flow}");
    // Each of the 13 exchanges has a record in each direction.
    let sides = records.iter().map(|(size, _)| size.signum());
    assert!(sides.clone().filter(|side| *side > 0).count() > 13 + 2, "{flow}");
    assert!(sides.filter(|side| *side < 0).count() > 13 + 2, "{flow}");
    for (place, (size, _)) in records.iter().enumerate() {
        if flow["padding"] == PADDING && !plaintext.contains(&place) {
            assert_eq!((size.abs() - OVERHEAD) % PADDING, 0, "record {place}: {flow}");
        }
    }
}

/// Checks that the accuracy is that of the matrix.
fn check_table(table: &Value) {
    let matrix: Vec<Vec<usize>> =
        serde_json::from_value(table["matrix"].clone()).expect("a matrix");
    assert_eq!(table["options"], Value::from(OPTIONS.to_vec()));
    assert!(matrix.iter().all(|row| row.len() == 6 && row.iter().sum::<usize>() == 4), "{table}");
    let right: usize = (0..6).map(|option| matrix[option][option]).sum();
    let share = right as f64 / 24.0;
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!((number(&table["accuracy"]) - share).abs() < 1e-9, "{table}");
    let (low, high) = (number(&table["interval"][0]), number(&table["interval"][1]));
    assert!(0.0 <= low && low <= share && share <= high + 1e-9 && high <= 1.0, "{table}");
    // Only a full handshake sends certificates, and psk_ke sends no key share, which is visible on any machine.
    let features = table["features"].as_str().expect("features");
    if features == "sizes" && table["padding"].is_null() {
        assert_eq!((matrix[0][0], matrix[1][1]), (4, 4), "{table}");
    }
}

fn check_costs(costs: &[Value]) {
    assert_eq!(costs.len(), OPTIONS.len() * 4);
    let bytes = |padding: Value, side: &str| {
        let of_full = |cost: &&Value| {
            cost["option"] == "a" && cost["padding"] == padding && cost["rtt_ms"] == 0.0
        };
        costs.iter().find(of_full).expect("a cost")[side].as_f64().expect("bytes")
    };
    for side in ["client_bytes", "server_bytes"] {
        let (plain, padded) = (bytes(Value::Null, side), bytes(PADDING.into(), side));
        assert!(padded > plain + 13.0 * 100.0, "{side}: {plain} and {padded}");
    }
}

#[test]
fn an_interrupted_recording_goes_on_where_it_stopped() {
    let directory = Directory::new();
    let journal = directory.path("flows.jsonl");
    let common = ["--padding", "0", "--repetitions", "2", "--resume", &journal];
    let Some(first) = report(&[&common[..], &["--rtt", "3ms"]].concat()) else { return };
    // As if interrupted while a setting was written.
    let kept = fs::read_to_string(&journal).expect("a journal");
    fs::write(&journal, format!("{kept}{{\"rtt_ms\":")).expect("writes");
    let both = report(&[&common[..], &["--rtt", "3ms,0"]].concat()).expect("the link is there");
    let flows = |report: &Value| report["flows"].as_array().expect("flows").clone();
    assert_eq!(flows(&first).len(), 2 * OPTIONS.len());
    assert_eq!(flows(&both).len(), 2 * flows(&first).len());
    assert_eq!(flows(&both)[..2 * OPTIONS.len()], flows(&first), "they were recorded again");
    assert_eq!(fs::read_to_string(&journal).expect("a journal").lines().count(), 1 + 2);

    let other = traffic(&[&common[..], &["--rtt", "3ms", "--loss", "1%"]].concat());
    let stderr = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("its settings"), "{stderr}");
}

#[test]
fn traffic_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--link", "loopback"].as_slice(), ["--link loopback", "observer"]),
        (&["--repetitions", "1"], ["--repetitions", "at least 2"]),
        (&["--padding", "16385"], ["--padding", "16384"]),
        (&["--padding", "none"], ["--padding", "none"]),
        (&["--rtt", "5ms,5000us"], ["--rtt", "5ms occurs twice"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
    ] {
        let output = traffic(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
}
