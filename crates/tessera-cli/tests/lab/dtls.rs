//! `tessera lab dtls`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::process::{Command, Output};

use serde_json::Value;
use tessera_test_peers::{Directory, chromium};

fn dtls(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "dtls"])
        .args(arguments)
        .output()
        .expect("starts")
}

fn cells(output: &Output) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["experiment"], "dtls");
    report["cells"].as_array().expect("cells").clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

#[test]
fn in_virtual_time_no_link_is_needed_and_a_seed_repeats_each_hand_over() {
    let options = ["--parts", "detection", "--arms", "full,cid-rrc", "--repetitions", "2"];
    let directory = Directory::new();
    let page = directory.path("dtls.html");
    let run = || {
        let output = dtls(&[&options[..], &["--json", "-", "--report", &page]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert!(stderr.contains("Modelled: interfaces"), "{stderr}");
        cells(&output)
    };
    let found = run();
    // Three delays: two ways to notice, and two interfaces of the arm that goes on.
    assert_eq!(found.len(), 3 * (2 + 3));
    let recoveries = |cells: &[Value]| {
        let samples = cells.iter().flat_map(|cell| cell["samples"].as_array().expect("samples"));
        let of = |sample: &Value| {
            let mut recoveries = sample["recoveries"].as_array().expect("hand-overs").clone();
            // ECDSA's signatures differ in length.
            let objects = recoveries.iter_mut().filter_map(Value::as_object_mut);
            objects.for_each(|it| drop(it.remove("longest_other")));
            recoveries
        };
        samples.map(of).collect::<Vec<_>>()
    };
    assert_eq!(recoveries(&found), recoveries(&run()));
    for cell in &found {
        for sample in cell["samples"].as_array().expect("samples") {
            assert_eq!(
                (number(&sample["acks"]), &sample["failure"]),
                (600, &Value::Null),
                "{cell}"
            );
        }
    }
    let shown = chromium::show(&format!("file://{page}"), 1280);
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    assert!(shown.dom.contains("Clients that move"), "the title");
}

/// Ours, as programs.
#[test]
fn over_sockets_an_association_goes_on_after_a_move() {
    // One of three cells.
    let options = ["--through", "sockets", "--parts", "outage", "--share", "1/3"];
    let output =
        dtls(&[&options[..], &["--arms", "cid-rrc", "--link", "tun", "--json", "-"]].concat());
    if !tessera_test_peers::has_link(&output) {
        return;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = cells(&output);
    assert_eq!(found.len(), 1, "{}", String::from_utf8_lossy(&output.stderr));
    let sample = &found[0]["samples"][0];
    assert_eq!((number(&sample["acks"]), &sample["failure"]), (60, &Value::Null), "{sample}");
    assert!(!sample["recoveries"].as_array().expect("hand-overs").is_empty(), "{sample}");
}

#[test]
fn other_stacks_need_their_programs_and_sockets() {
    let output = dtls(&["--arms", "openssl-full"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("other stacks run over sockets alone"), "{stderr}");
}
