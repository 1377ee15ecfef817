//! `tessera stek demo`.

use serde_json::Value;

use crate::program::{run, stderr, tessera};

#[test]
fn the_demonstration_resumes_across_rotations_and_not_after_a_revocation() {
    let output = run(tessera().args(["stek", "demo"]), "");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    for expected in [
        "a ticket from before the rotation of nginx a at nginx b: resumed",
        "refuses to rotate again: these members don't hold the next ticket key yet: b/haproxy.www;",
        "a revoked ticket of HAProxy a at HAProxy b: a full handshake",
        "18 clients came back to the other host: 18 resumed.",
        "2 came back with a revoked ticket: 0 resumed.",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn the_demonstration_is_objects_for_programs() {
    let output = run(tessera().args(["stek", "demo", "--json"]), "");
    let text = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, steps) = objects.split_last().unwrap();
    assert!(steps.iter().all(|step| step["event"] == "step" && step["facts"] == 1), "{text}");
    assert_eq!((end["event"].as_str(), end["rotations"].as_u64()), (Some("demo"), Some(4)));
    assert_eq!(end["returned"], end["resumed"], "{end}");
    assert_eq!(end["resumed_after_revocation"], 0, "{end}");
}
