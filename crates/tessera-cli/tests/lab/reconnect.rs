//! `tessera lab reconnect`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::collections::HashSet;
use std::process::{Command, Output};

use serde_json::Value;

fn reconnect(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "reconnect"])
        .args(arguments)
        .output()
        .expect("starts")
}

fn report(arguments: &[&str]) -> Value {
    let output = reconnect(&[arguments, &["--json", "-"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("what it protects"), "the table is on standard error: {stderr}");
    serde_json::from_slice(&output.stdout).expect("standard output is the report alone")
}

/// Checks everything that other programs may rely on.
#[test]
fn the_reconnect_report_has_every_row_and_every_field() {
    let report = report(&["--link", "loopback", "--repetitions", "3", "--seed", "7"]);
    assert_eq!(report["experiment"], "reconnect");
    assert_eq!(report["seed"], 7);
    assert!(report["machine"]["cores"].as_u64() > Some(0));

    let rows = report["rows"].as_array().expect("rows");
    let mut ways = HashSet::new();
    for row in rows {
        let text = |field: &str| row[field].as_str().unwrap_or("null");
        let way = ["mode", "kx", "ticket_key", "continuation"].map(text);
        assert!(ways.insert(way), "{way:?} twice");
        assert_eq!(row["rtt_ms"], 0.0);
        let samples = row["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), 3);
        for sample in samples {
            check_sample(sample, way[0]);
        }
        for side in ["client", "server"] {
            let bytes = row["bytes"][side].as_u64().expect("bytes");
            assert!((300..10_000).contains(&bytes), "{way:?}: {side} sent {bytes}");
            let heap = row["heap"][side].as_u64();
            assert_eq!(heap.is_some(), cfg!(feature = "heap"), "{way:?}: {side}");
            assert!(
                heap.is_none_or(|heap| (500..6 * 1024).contains(&heap)),
                "{way:?}: {side} holds {heap:?}"
            );
        }
        check_verdicts(&row["verdicts"], way);
    }
    let (x, m) = ("x25519", "x25519mlkem768");
    let expected = [
        ["full", x, "null", "null"],
        ["full", m, "null", "null"],
        ["psk-only", "none", "null", "null"],
        ["psk-dhe", x, "null", "null"],
        ["psk-dhe", m, "null", "null"],
        ["0rtt", x, "null", "null"],
        ["0rtt", m, "null", "null"],
        ["0rtt-fs", x, x, "psk_dhe_ke"],
        ["0rtt-fs", x, m, "psk_dhe_ke"],
        ["0rtt-fs", m, x, "psk_dhe_ke"],
        ["0rtt-fs", m, m, "psk_dhe_ke"],
        ["0rtt-fs", "none", x, "psk_ke"],
        ["0rtt-fs", "none", m, "psk_ke"],
        ["0rtt-fs-psk", x, "one-time-psk", "psk_dhe_ke"],
        ["0rtt-fs-psk", "none", "one-time-psk", "psk_ke"],
    ];
    assert_eq!(ways, HashSet::from(expected));
}

fn check_sample(sample: &Value, mode: &str) {
    let us = |field: &str| sample[field].as_f64().expect(field);
    let (tcp, first_byte) = (us("tcp_us"), us("first_byte_us"));
    let (handshake, response) = (us("handshake_us"), us("response_us"));
    assert!(0.0 < tcp && tcp < first_byte && tcp < handshake, "{sample}");
    assert!(first_byte < response, "{sample}");
    let early = mode.starts_with("0rtt");
    assert_eq!(first_byte < handshake, early, "{mode}: {sample}");
    for side in ["client", "server"] {
        let engine = us(&format!("{side}_engine_us"));
        assert!(0.0 < engine && engine < us(&format!("{side}_cpu_us")), "{sample}");
    }
}

fn check_verdicts(verdicts: &Value, [mode, kx, ticket_key, continuation]: [&str; 4]) {
    let (taken, deleted) = ("from_take_or_expiry", "from_deletion_by_both");
    let (first_byte, session) = match (mode, continuation) {
        ("full" | "psk-dhe", _) => ("handshake", "handshake"),
        ("psk-only", _) => ("none", "none"),
        ("0rtt", _) => ("none", "handshake"),
        ("0rtt-fs", "psk_ke") => (taken, taken),
        ("0rtt-fs", _) => (taken, "handshake"),
        ("0rtt-fs-psk", "psk_ke") => (deleted, deleted),
        _ => (deleted, "handshake"),
    };
    assert_eq!(verdicts["first_byte_fs"], first_byte, "{mode}");
    assert_eq!(verdicts["session_fs"], session, "{mode}");
    // Each server's register accepts a ticket once; the adversary has two servers.
    let executions = if mode == "0rtt" { 2 } else { 1 };
    assert_eq!(verdicts["replay_executions"], executions, "{mode}");
    let weakest = [kx, ticket_key].contains(&"x25519");
    assert_eq!(verdicts["pq_confidentiality"], !weakest, "{mode} {kx} {ticket_key}");
}

/// Whether the link is emulated. `false` only if the machine forbids it, which must not happen to root.
fn has_link() -> bool {
    let probe = ["--link", "tun", "--rtt", "0", "--modes", "full", "--repetitions", "1"];
    tessera_test_peers::has_link(&reconnect(&probe))
}

/// Returns when the first byte reached the server's application, in µs. The minimum: a busy machine delays some of
/// them, but never all by a whole round trip.
fn first_byte(row: &Value) -> f64 {
    let samples = row["samples"].as_array().expect("samples");
    let times = samples.iter().filter_map(|sample| sample["first_byte_us"].as_f64());
    times.min_by(f64::total_cmp).expect("a sample")
}

/// One round trip less, over the emulated link. How close it comes to replayable 0-RTT is measured by `lab reconnect`,
/// not tested.
#[test]
fn forward_secret_early_data_saves_a_round_trip() {
    let modes = ["--modes", "psk-dhe,0rtt,0rtt-fs", "--rtt", "33ms", "--repetitions", "5"];
    if !has_link() {
        return;
    }
    let report = report(&[modes.as_slice(), &["--link", "tun"]].concat());
    let rows = report["rows"].as_array().expect("rows");
    let first_byte = |mode: &str, kx: &str, ticket_key: Option<&str>| {
        let row = rows.iter().find(|row| {
            row["mode"] == mode && row["kx"] == kx && row["ticket_key"].as_str() == ticket_key
        });
        first_byte(row.expect("a row"))
    };
    for kx in ["x25519", "x25519mlkem768"] {
        let forward_secret = first_byte("0rtt-fs", kx, Some(kx));
        let saved = first_byte("psk-dhe", kx, None) - forward_secret;
        assert!(saved >= 0.5 * 33_000.0, "{kx}: saves {saved} µs of a round trip of 33 ms");
    }
}

/// And another one if the first flight fits into a SYN: the request arrives before any answer could have.
#[test]
fn a_flight_that_fits_into_the_syn_saves_another_round_trip() {
    if !has_link() {
        return;
    }
    let modes = ["--modes", "0rtt-fs", "--rtt", "60ms", "--repetitions", "3"];
    let report = report(&[modes.as_slice(), &["--link", "tun", "--tcp-fast-open"]].concat());
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 6);
    for pair in rows.chunks(2) {
        let [ordinary, in_syn] = pair else { panic!("each way twice") };
        let way = format!("{} {} {}", in_syn["mode"], in_syn["kx"], in_syn["ticket_key"]);
        assert!(ordinary["fast_open"].is_null(), "{way}");
        assert_eq!(in_syn["fast_open"]["taken"], 3, "{way}");
        let flight = in_syn["first_flight"].as_u64().expect("bytes");
        // What a SYN of 1,500 bytes holds, after the room that Linux reserves for options.
        assert_eq!(in_syn["fast_open"]["bytes"], flight.min(1420), "{way}");
        let fits = ![&in_syn["kx"], &in_syn["ticket_key"]].contains(&&"x25519mlkem768".into());
        assert_eq!(flight <= 1420, fits, "{way}: {flight}");
        if fits {
            let saved = first_byte(ordinary) - first_byte(in_syn);
            assert!(saved >= 0.5 * 60_000.0, "{way}: saves {saved} µs of a round trip of 60 ms");
            assert!(first_byte(in_syn) < 60_000.0, "{way}: {}", first_byte(in_syn));
        }
        // Its copies arrived in SYNs, too.
        assert_eq!(in_syn["verdicts"], ordinary["verdicts"], "{way}");
    }
}

#[test]
fn loopback_rows_with_tcp_fast_open_are_refused() {
    let output = reconnect(&["--link", "loopback", "--tcp-fast-open"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--tcp-fast-open"), "{stderr}");
}

/// The report has the parameters of the link, so that a run can be repeated.
#[test]
fn a_link_with_bursts_and_congestion_is_in_the_report() {
    if !has_link() {
        return;
    }
    let link = ["--link", "tun", "--rtt", "2ms", "--loss", "1%", "--loss-burst", "3"];
    let more = ["--congestion", "20%", "--modes", "psk-only", "--repetitions", "1"];
    let report = report(&[&link[..], &more].concat());
    assert_eq!(report["link"]["loss"], 0.01);
    assert_eq!(report["link"]["loss_burst"], 3.0);
    assert_eq!(report["link"]["congestion"], 0.2);
    assert_eq!(report["link"]["congestion_ms"], Value::Null);
}

/// Checks that the adversary does find replays if they are possible.
#[test]
fn without_a_register_every_replay_is_executed() {
    let modes = ["--modes", "0rtt-unguarded", "--link", "loopback", "--repetitions", "1"];
    let report = report(&modes);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(row["verdicts"]["replay_executions"], 1 + 3 * 20);
        assert_eq!(row["verdicts"]["first_byte_fs"], "none");
    }
}

#[test]
fn reconnect_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--rtt", "33"].as_slice(), ["--rtt", "33ms"]),
        (&["--link", "loopback", "--rtt", "33ms"], ["--rtt", "--link loopback"]),
        (&["--link", "loopback", "--loss", "1%"], ["--loss", "emulates nothing"]),
        (&["--link", "loopback", "--congestion", "1ms"], ["--congestion", "emulates nothing"]),
        (&["--loss-burst", "3"], ["--loss-burst", "--loss 1%"]),
        (&["--loss-burst", "3", "--loss", "1"], ["--loss-burst", "everything"]),
        (&["--loss-burst", "1.5", "--loss", "50%"], ["--loss-burst", "2.00"]),
        (&["--loss-burst", "0"], ["--loss-burst", "1 to 10000"]),
        (&["--congestion", "5%", "--rtt", "0"], ["--congestion 2ms", "--rtt"]),
        (&["--congestion", "5"], ["--congestion", "5%"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
        (&["--report", "/nowhere/report.html"], ["--report", "directory"]),
        (&["--report", "-", "--json", "-"], ["--report", "standard output"]),
        (&["--modes", "fast"], ["--modes", "0rtt-fs"]),
        (&["--repetitions", "0"], ["--repetitions", "1..="]),
    ] {
        let output = reconnect(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
        assert!(!stderr.contains("os error"), "a number for people: {stderr}");
    }
}
