//! `tessera lab roaming`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tessera_test_peers::Directory;

fn roaming(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "roaming"])
        .args(arguments)
        .output()
        .expect("starts")
}

fn report(arguments: &[&str]) -> Value {
    let short = ["--repetitions", "5", "--link-repetitions", "2", "--json", "-"];
    let output = roaming(&[arguments, &short].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("first byte/response"), "the table is on standard error: {stderr}");
    serde_json::from_slice(&output.stdout).expect("standard output is the report alone")
}

fn list<'a>(report: &'a Value, name: &str) -> &'a [Value] {
    report[name].as_array().expect(name)
}

/// Returns the samples of a cell one by one; unmeasured fields are absent.
fn samples(cell: &Value) -> Vec<Value> {
    let columns = cell["samples"].as_object().expect("columns");
    let count = list(&cell["samples"], "response_us").len();
    assert!(columns.values().all(|column| column.as_array().is_some_and(|it| it.len() == count)));
    let sample = |row: usize| {
        columns.iter().map(|(name, column)| (name.clone(), column[row].clone())).collect()
    };
    (0..count).map(sample).collect()
}

/// Whether the link is emulated. `false` only if the machine forbids it, which must not happen to root.
fn has_link() -> bool {
    let cells = "through=endpoints,option=b,suite=0x1301,link=none,loss=0";
    let probe = ["--link", "tun", "--cells", cells, "--link-repetitions", "1"];
    tessera_test_peers::has_link(&roaming(&probe))
}

/// The fields of a sample depend on what carried it.
fn check_sample(cell: &Value, sample: &Value) {
    let has = |field: &str| sample[field].as_f64().is_some();
    let fields = match cell["through"].as_str().expect("a kind") {
        "engine" => [true, false, true, true, false],
        "endpoints" => [true, true, true, true, true],
        _ => [false, false, false, true, true],
    };
    let names = ["send_us", "tcp_us", "handshake_us", "response_us", "client_cpu_us"];
    for (name, there) in names.into_iter().zip(fields) {
        assert_eq!(has(name), there, "{name}: {cell}");
    }
    assert_eq!(has("receive_us"), has("send_us"));
    assert_eq!(has("server_cpu_us"), has("client_cpu_us"));
    assert_eq!(has("client_engine_us"), has("send_us"));
    assert!(sample["first_byte_us"].as_f64() < sample["response_us"].as_f64(), "{sample}");
}

/// Three cells of the grid, one of each kind; checks everything that other programs may rely on.
#[test]
fn three_cells_of_the_roaming_grid_are_measured_or_have_a_reason() {
    let report = report(&["--sample", "3", "--seed", "10"]);
    assert_eq!(report["experiment"], "roaming");
    assert_eq!(report["seed"], 10);
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    assert!(report.get("revision").is_some());
    let (cells, not_run) = (list(&report, "cells"), list(&report, "not_run"));
    assert_eq!(cells.len() + not_run.len(), 3);
    let through: Vec<_> = cells.iter().chain(not_run).map(|it| &it["through"]).collect();
    for kind in ["engine", "endpoints", "sepp"] {
        assert!(through.contains(&&kind.into()), "{through:?}");
    }
    for cell in cells {
        let is_short = cell["link"]["name"] == "none" && cell["through"] != "endpoints";
        let wanted = if is_short { 5 } else { 2 };
        let samples = samples(cell);
        assert_eq!(samples.len(), wanted, "{cell}");
        for sample in &samples {
            check_sample(cell, sample);
        }
        assert_eq!(cell["registration"].is_null(), cell["through"] != "sepp");
        for name in ["failed", "why_failed", "round_trips", "bytes", "operations", "issuing"] {
            assert!(cell.get(name).is_some(), "{name}: {cell}");
        }
    }
    for cell in not_run {
        assert!(!cell["reason"].as_str().expect("a reason").is_empty(), "{cell}");
        assert!(cell.get("samples").is_none(), "{cell}");
    }
}

/// A link doesn't change the number of round trips: each mode needs as many as it should.
#[test]
fn over_a_link_early_data_saves_the_round_trip_that_it_should() {
    if !has_link() {
        return;
    }
    let cells = "through=endpoints,option=c|e,kx=x25519,ticket_key=none|x25519,store=memory,suite=0x1302,\
                 link=50ms,loss=0,congestion=0";
    let report = report(&["--link", "tun", "--cells", cells]);
    assert_eq!(report["link"], "tun");
    assert_eq!(list(&report, "cells").len(), 2, "{}", report["not_run"]);
    for cell in list(&report, "cells") {
        // TCP has one, and the request's way is half of one.
        let least = if cell["option"] == "e" { 1.5 } else { 2.5 };
        let trips = &cell["round_trips"];
        assert!(trips["first_byte"].as_f64() >= Some(least), "{cell}");
        assert!(trips["response"].as_f64() >= Some(least + 0.5), "{cell}");
        for sample in samples(cell) {
            let us = |field: &str| sample[field].as_f64().expect(field);
            assert!(
                us("tcp_us") >= 50_000.0 && us("send_us") >= (least - 1.0) * 50_000.0,
                "{cell}"
            );
            assert!(us("receive_us") >= 25_000.0, "{cell}");
        }
    }
}

#[test]
fn a_roaming_cell_that_needs_a_link_reports_that_on_loopback() {
    let cells = "option=b,suite=0x1301,through=endpoints,link=none|371ms";
    let report = report(&["--link", "loopback", "--cells", cells]);
    assert_eq!(list(&report, "cells").len(), 1);
    assert_eq!(list(&report, "cells")[0]["link"]["name"], "none");
    let not_run = list(&report, "not_run");
    assert_eq!(not_run.len(), 1);
    assert_eq!(not_run[0]["link"]["rtt_ms"], 371.0);
    assert!(not_run[0]["reason"].as_str().expect("a reason").contains("emulates nothing"));

    let cells = "option=b,suite=0x1301,through=endpoints,link=371ms";
    let output = roaming(&["--link", "loopback", "--cells", cells]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("no cell could be measured"), "{stderr}");
}

/// PATH has no program `etcd`.
#[test]
fn without_etcd_its_roaming_cells_are_not_run_and_the_others_are() {
    let cells = "through=engine,mode=0rtt-fs-psk,continuation=psk_ke,suite=0x1302";
    let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "roaming", "--cells", cells, "--repetitions", "2", "--json", "-"])
        .env("PATH", "/nonexistent")
        .output()
        .expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list(&report, "cells")[0]["store"], "memory");
    let not_run = &list(&report, "not_run")[0];
    assert_eq!(not_run["store"], "etcd");
    assert_eq!(not_run["reason"], "the program `etcd` is not on PATH");
}

/// Finished cells are read back, sample by sample, and the rest is measured.
#[test]
fn an_interrupted_roaming_run_goes_on_where_it_stopped() {
    let directory = Directory::new();
    let journal = directory.path("cells.jsonl");
    let engine = |cells: &str| report(&["--resume", &journal, "--cells", cells]);
    let first = engine("through=engine,option=b,suite=0x1302");
    // Interrupted while it wrote the next cell.
    let written = fs::read_to_string(&journal).expect("a journal");
    fs::write(&journal, format!("{written}{{\"option\":\"b\",\"mo")).expect("writes");

    let both = engine("through=engine,option=b");
    assert_eq!(list(&both, "cells").len(), 2);
    assert_eq!(list(&both, "cells")[0], list(&first, "cells")[0]);
    let lines = fs::read_to_string(&journal).expect("a journal").lines().count();
    assert_eq!(lines, 1 + 2, "which run it is, and two cells");

    // Runs share the cells, and their journals are joined.
    let shares = ["1/2", "2/2"].map(|share| {
        let journal = directory.path(&share.replace('/', "-of-"));
        let cells = "through=engine,option=b";
        let report = report(&["--resume", &journal, "--cells", cells, "--share", share]);
        let lines = fs::read_to_string(&journal).expect("a journal");
        (list(&report, "cells").to_vec(), lines)
    });
    let [(first, one), (second, two)] = &shares;
    let joined = directory.path("joined.jsonl");
    let (_, two) = two.split_once('\n').expect("a first line");
    fs::write(&joined, format!("{one}{two}")).expect("writes");
    let report = report(&["--resume", &joined, "--cells", "through=engine,option=b"]);
    assert_eq!(list(&report, "cells"), [first.as_slice(), second].concat());

    let other = roaming(&[
        "--resume",
        &journal,
        "--seed",
        "2",
        "--repetitions",
        "5",
        "--link-repetitions",
        "2",
    ]);
    let stderr = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("its seed is 1, and this one's 2"), "{stderr}");
}

#[test]
fn roaming_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--cells", "option=f"].as_slice(), ["--cells", "the values are a, b"]),
        (&["--cells", "weather=fine"], ["--cells", "fields are through"]),
        (&["--cells", "through=engine,link=50ms"], ["--cells", "no cell matches all of that"]),
        (&["--sample", "0"], ["--sample", "1..="]),
        (&["--share", "3/2"], ["--share", "`1/4`"]),
        (&["--cells", "through=engine,option=b", "--share", "3/3"], ["--share", "cells is left"]),
        (&["--repetitions", "0"], ["--repetitions", "1..="]),
        (&["--resume", "/nowhere/cells.jsonl"], ["--resume", "/nowhere/cells.jsonl"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
        (&["--report", "-", "--json", "-"], ["--report", "standard output"]),
    ] {
        let output = roaming(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
        assert!(!stderr.contains("os error"), "a number for people: {stderr}");
    }
}
