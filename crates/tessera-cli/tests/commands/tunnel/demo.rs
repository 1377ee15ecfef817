//! `tessera tunnel demo`.

use serde_json::Value;

use crate::program::{run, stderr, tessera};

#[test]
fn the_demonstration_ends_by_itself_and_reports_what_happened() {
    let output = run(tessera().args(["tunnel", "demo"]), "");
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}{}", stderr(&output));
    for text in [
        "executes PAY 2",
        "sends the first flight of PAY 2 again",
        "it can't know whether PAY 3 was executed",
        "restarts with its sealed state",
        "4 payments requested, 4 executed, 3 of them from a first flight; 5 replays.",
        "No payment was executed twice.",
    ] {
        assert!(told.contains(text), "{text:?} is not in\n{told}");
    }
}

#[test]
fn the_demonstration_is_objects_for_programs() {
    let output = run(tessera().args(["tunnel", "demo", "--json"]), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, steps) = told.split_last().unwrap();
    assert!(steps.iter().all(|step| step["event"] == "step" && step["facts"] == 1), "{text}");
    assert_eq!((end["event"].as_str(), end["executed_twice"].as_u64()), (Some("demo"), Some(0)));
    assert_eq!((end["requests"].as_u64(), end["executed"].as_u64()), (Some(4), Some(4)));
    // Each byte takes 20 ms: a flight and its answer 40, with the handshake before them 80.
    assert!(end["full_millis"].as_u64() >= Some(80), "{end}");
    assert!(end["early_millis"].as_u64() >= Some(40), "{end}");
}
