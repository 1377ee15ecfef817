//! `tessera lab edge`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::process::{Command, Output};

use serde_json::Value;

fn edge(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "edge"])
        .args(arguments)
        .output()
        .expect("starts")
}

fn report(arguments: &[&str]) -> Option<Value> {
    let output = edge(&[arguments, &["--json", "-"]].concat());
    if !tessera_test_peers::has_link(&output) {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("inherited        the same with X25519"), "the tables: {stderr}");
    Some(serde_json::from_slice(&output.stdout).expect("standard output is the report alone"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Few cells; checks everything that other programs may rely on.
#[test]
fn the_edge_report_has_each_way_over_loopback_and_links_and_its_operations() {
    let options = ["--link", "tun", "--certificates", "p-256", "--repetitions", "2"];
    let links = ["--connections", "2", "--rtt", "1ms", "--loss", "1%"];
    let Some(report) = report(&[&options[..], &links].concat()) else { return };
    assert_eq!((&report["experiment"], &report["link"]), (&"edge".into(), &"tun".into()));
    let cells = report["cells"].as_array().expect("cells");
    // Full, resumed and three kinds of 0-RTT with both groups, also with a signer; inherited and retry with one.
    assert_eq!(cells.len(), 3 * 14);
    for cell in cells {
        let samples = cell["samples"].as_array().expect("samples");
        let loss = cell["link"]["loss"].as_f64().unwrap_or(0.0);
        assert_eq!(samples.len(), if loss > 0.0 { 8 } else { 2 }, "{cell}");
        for sample in samples {
            assert!(number(&sample["hello"]) <= number(&sample["client"]["handshake"]), "{sample}");
        }
        // The weakest exchange of the chain counts.
        let is_hybrid = cell["kx"] == "x25519mlkem768";
        assert_eq!(cell["post_quantum"], is_hybrid, "{cell}");
    }
    let flights = |way: &str, kx: &str| {
        let is_it =
            |cell: &&Value| cell["link"].is_null() && cell["way"] == way && cell["kx"] == kx;
        let sample = &cells.iter().find(is_it).expect("the cell")["samples"][0];
        number(&sample["hello"]) + number(&sample["server"]["handshake"])
    };
    assert_eq!(flights("inherited", "x25519"), flights("resumed", "x25519"));
    assert!(flights("resumed", "x25519mlkem768") < flights("full", "x25519mlkem768"));
    let rows = |name: &str| report[name].as_array().expect("rows");
    assert_eq!((rows("operations").len(), rows("rates").len()), (8, 14));
    for row in rows("rates") {
        assert_eq!(row["per_second"], 100);
        assert!(row["held_per_second"].as_f64().is_some_and(|held| held < 101.0), "{row}");
        assert_eq!(row["server_cpu_us"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(rows("rotations").len(), 2);
    for row in rows("rotations") {
        // Two repetitions; no ticket was under a key that the second proxy lacked.
        assert_eq!((number(&row["rotations"]), number(&row["full"])), (6, 0), "{row}");
        assert_eq!(row["why_failed"], Value::Object(serde_json::Map::new()), "{row}");
        assert!(number(&row["resumed"]) > 0, "{row}");
    }
}

#[test]
fn operations_and_loopback_need_no_link() {
    let options = ["--link", "loopback", "--ways", "full,resumed", "--repetitions", "2"];
    let options = [&options[..], &["--certificates", "p-256", "--connections", "1"]].concat();
    let report = report(&options).expect("it needs no link");
    assert!(report["link"].is_null());
    let rows = |name: &str| report[name].as_array().expect("rows").len();
    assert_eq!([rows("cells"), rows("operations"), rows("rates"), rows("rotations")], [4, 4, 4, 2]);
}

#[test]
fn edge_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--link", "loopback", "--loss", "1%"].as_slice(), ["--loss", "loopback"]),
        (&["--link", "loopback", "--rtt", "5ms"], ["--rtt", "loopback"]),
        (&["--parts", "speed"], ["parts are", "handshakes, operations, rate, rotation"]),
        (&["--rate", "0"], ["--rate", "1..=1000"]),
        (&["--ways", "half"], ["ways are", "full, full-signer"]),
        (&["--ways", "full,full"], ["--ways", "occurs twice"]),
        (&["--certificates", "rsa"], ["rsa-2048", "ml-dsa-87"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
    ] {
        let output = edge(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
}
