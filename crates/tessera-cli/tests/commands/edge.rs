//! `tessera edge`.

use serde_json::Value;

use crate::program::{run, stderr, tessera};

#[test]
fn the_demonstration_loses_no_request_and_each_arrival_is_in_a_first_flight() {
    let output = run(tessera().args(["edge", "demo", "--json"]), "");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, steps) = objects.split_last().unwrap();
    assert!(steps.iter().all(|step| step["event"] == "step" && step["facts"] == 1), "{text}");
    for (key, count) in
        [("requests", 19), ("executed", 19), ("remembered", 19), ("arrivals", 4), ("early", 4)]
    {
        assert_eq!(end[key], count, "{key}: {end}");
    }
}

#[test]
fn a_wrong_key_is_named_with_its_line() {
    let output = run(tessera().args(["edge", "check", "-"]), "");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let path = std::env::temp_dir().join(format!("tessera-edge-{}.toml", std::process::id()));
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/edge.toml");
    let text = std::fs::read_to_string(example).unwrap().replace("ma = 30", "ma = 61");
    std::fs::write(&path, text).unwrap();
    let output = run(tessera().args(["edge", "check", path.to_str().unwrap()]), "");
    let _ = std::fs::remove_file(&path);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains(".toml:10: [pool] ma: must be whole seconds, 1 to 60"),
        "{}",
        stderr(&output)
    );
}
