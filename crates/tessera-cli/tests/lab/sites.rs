//! `tessera lab sites`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::collections::HashMap;
use std::process::{Command, Output};

use serde_json::Value;

fn sites(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "sites"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// The rows by their path; checks everything that other programs may rely on. No network is needed.
#[test]
fn the_sites_report_has_what_each_path_costs_and_what_the_adversary_gets() {
    let report = report(&["--link", "loopback"]);
    assert_eq!(report["between_sites"], "mutual TLS between two processes, over loopback");
    let by_path = by_path(&report, 0.0);
    assert!(fastest(&by_path, "away-home-silent", "verdict_us") > Some(200_000.0));
    assert_eq!(
        fastest(&by_path, "away-home-silent", "first_byte_us"),
        None,
        "it was not sent again"
    );
    assert_eq!(fastest(&by_path, "away-psk-dhe", "verdict_us"), None);
}

/// Over a link: two processes in two namespaces, whose messages take its time.
#[test]
fn messages_between_sites_take_the_time_of_their_link() {
    let site_rtt_us = 20_000.0;
    let probe = ["--link", "tun", "--rtt", "0", "--site-rtt", "0", "--repetitions", "1"];
    if !tessera_test_peers::has_link(&sites(&probe)) {
        return;
    }
    let report = report(&["--link", "tun", "--rtt", "0", "--site-rtt", "20ms"]);
    assert!(report["between_sites"].as_str().expect("text").contains("emulated"));
    let by_path = by_path(&report, 20.0);
    let fastest = |path: &str, field: &str| fastest(&by_path, path, field);
    assert!(fastest("home", "first_byte_us") < Some(site_rtt_us), "it asks no other site");
    assert!(fastest("away", "verdict_us") > Some(site_rtt_us), "no verdict before home answered");
    assert!(fastest("away", "first_byte_us") > Some(site_rtt_us), "nothing is sent again before");
    assert!(fastest("away-home-silent", "verdict_us") > Some(3.0 * site_rtt_us));
    assert!(fastest("away-psk-dhe", "first_byte_us") < Some(site_rtt_us), "it asks no other site");
}

/// Returns a report with all paths, after checking its form.
fn report(link: &[&str]) -> Value {
    let arguments = ["--repetitions", "3", "--with-guessing-site", "--json", "-"];
    let output = sites(&[link, &arguments].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("away-home-silent"), "the table is on standard error: {stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert_eq!(report["experiment"], "sites");
    report
}

/// Returns its rows; checks the verdict on each path and what the adversary achieved.
fn by_path(report: &Value, site_rtt_ms: f64) -> HashMap<&str, &Value> {
    let rows = report["rows"].as_array().expect("rows");
    let mut by_path = HashMap::new();
    for row in rows {
        assert_eq!(row["site_rtt_ms"], site_rtt_ms);
        assert_eq!(row["samples"].as_array().expect("samples").len(), 3);
        by_path.insert(row["path"].as_str().expect("a path"), row);
    }
    let told_and_executed = |path: &str| {
        let row = by_path[path];
        (row["told"].as_str().unwrap_or("-"), row["replay_executions"].as_u64())
    };
    assert_eq!(rows.len(), 5);
    assert_eq!(told_and_executed("home"), ("accepted", Some(1)));
    assert_eq!(told_and_executed("away"), ("burned", Some(1)));
    assert_eq!(told_and_executed("away-home-silent"), ("unknown", Some(1)));
    assert_eq!(told_and_executed("away-psk-dhe"), ("-", Some(1)));
    // The adversary must find the double execution that the guessing site allows.
    assert_eq!(told_and_executed("away-guess"), ("burned", Some(2)));
    by_path
}

fn fastest(by_path: &HashMap<&str, &Value>, path: &str, field: &str) -> Option<f64> {
    let samples = by_path[path]["samples"].as_array().expect("samples");
    samples.iter().filter_map(|sample| sample[field].as_f64()).reduce(f64::min)
}

/// The guessing site runs only on request.
#[test]
fn the_sites_report_has_no_guessing_site_unless_asked_for() {
    let output = sites(&["--link", "loopback", "--repetitions", "1", "--site-rtt", "0,0"]);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = |name: &str| stdout.lines().filter(|line| line.starts_with(name)).count();
    // Once for each time between the sites, and once in the legend.
    assert_eq!(rows("away-psk-dhe "), 2 + 1);
    assert_eq!(rows("away-guess "), 1);
}

#[test]
fn sites_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--site-rtt", "33"].as_slice(), ["--site-rtt", "33ms"]),
        (&["--link", "loopback", "--rtt", "33ms"], ["--rtt", "--link loopback"]),
        (&["--link", "loopback", "--site-rtt", "20ms"], ["--site-rtt 0", "--link loopback"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
        (&["--report", "/nowhere/report.html"], ["--report", "directory"]),
        (&["--report", "-", "--json", "-"], ["--report", "standard output"]),
    ] {
        let output = sites(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
}
