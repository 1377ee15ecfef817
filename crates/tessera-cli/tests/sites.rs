//! `tessera lab sites`, the program as a user starts it.

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

/// The rows by their path, and everything that other programs may rely on. No network is needed.
#[test]
fn the_sites_report_has_what_each_path_costs_and_what_the_adversary_gets() {
    let site_rtt_us = 20_000.0;
    let arguments = ["--link", "loopback", "--repetitions", "3", "--site-rtt", "20ms"];
    let output = sites(&[&arguments[..], &["--with-guessing-site", "--json", "-"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("away-home-silent"), "the table is on standard error: {stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert_eq!(report["experiment"], "sites");
    assert!(report["between_sites"].as_str().expect("text").contains("simulated"));

    let rows = report["rows"].as_array().expect("rows");
    let mut by_path = HashMap::new();
    for row in rows {
        assert_eq!(row["site_rtt_ms"], 20.0);
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
    // An adversary that never finds a double execution would prove nothing.
    assert_eq!(told_and_executed("away-guess"), ("burned", Some(2)));

    let fastest = |path: &str, field: &str| {
        let samples = by_path[path]["samples"].as_array().expect("samples");
        samples.iter().filter_map(|sample| sample[field].as_f64()).reduce(f64::min)
    };
    assert!(fastest("home", "first_byte_us") < Some(site_rtt_us), "it asks nobody");
    assert!(fastest("away", "verdict_us") > Some(site_rtt_us), "no verdict before home answered");
    assert!(fastest("away", "first_byte_us") > Some(site_rtt_us), "nothing is sent again before");
    assert!(fastest("away-home-silent", "verdict_us") > Some(3.0 * site_rtt_us));
    assert_eq!(fastest("away-home-silent", "first_byte_us"), None, "it was not sent again");
    assert!(fastest("away-psk-dhe", "first_byte_us") < Some(site_rtt_us), "it asks nobody");
    assert_eq!(fastest("away-psk-dhe", "verdict_us"), None);
}

/// The site that is wrong runs only where it is asked for.
#[test]
fn the_sites_report_has_no_guessing_site_unless_asked_for() {
    let output = sites(&["--link", "loopback", "--repetitions", "1", "--site-rtt", "1ms,2ms"]);
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
