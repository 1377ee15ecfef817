//! `tessera lab dtls`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};
use tessera_mobile_peers::Program;
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

/// The paper's run with 60 acknowledgements: plain DTLS and TCS as the paper has them, over OpenSSL, and ours.
#[test]
fn over_sockets_an_association_goes_on_after_a_move_and_openssl_s_connects_again() {
    let directory = Directory::new();
    Program::compile_openssl(&directory.path(""));
    let peers = directory.path("");
    // Of each arm the cell at 30 ms with one interface and one time-out.
    let arms = [("openssl-full", "4/6"), ("openssl-tcs", "3/6"), ("cid-rrc", "3/6")];
    let outputs: Vec<_> = thread::scope(|scope| {
        let runs = arms.map(|(arm, share)| {
            let peers = &peers;
            scope.spawn(move || {
                let options = ["--through", "sockets", "--parts", "paper", "--acks", "60"];
                let run = ["--socket-repetitions", "1", "--link", "tun", "--json", "-"];
                let cell = ["--arms", arm, "--share", share, "--peers", peers];
                dtls(&[&options[..], &run[..], &cell[..]].concat())
            })
        });
        runs.map(|run| run.join().expect("it ends")).into_iter().collect()
    });
    if !outputs.iter().all(tessera_test_peers::has_link) {
        return;
    }
    for ((arm, _), output) in arms.iter().zip(&outputs) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let found = cells(output);
        assert_eq!(found.len(), 1, "{arm}: {stderr}");
        let scenario = &found[0]["scenario"];
        assert_eq!((&scenario["delay_ms"], &scenario["timeouts"]), (&json!(30.0), &json!(1)));
        let sample = &found[0]["samples"][0];
        assert_eq!((number(&sample["acks"]), &sample["failure"]), (60, &Value::Null), "{sample}");
        let recoveries = sample["recoveries"].as_array().expect("hand-overs");
        assert!(!recoveries.is_empty(), "{arm}: {sample}");
        for recovery in recoveries {
            // Three round trips of 60 ms, the cookie's included, or none.
            let keys_us = number(&recovery["keys_us"]);
            let is_right = if *arm == "openssl-full" { keys_us >= 180_000 } else { keys_us == 0 };
            assert!(is_right, "{arm}: {sample}");
        }
    }
}

#[test]
fn other_stacks_need_their_programs_and_sockets() {
    let output = dtls(&["--arms", "openssl-full"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("other stacks run over sockets alone"), "{stderr}");
}

#[test]
fn a_run_in_which_nothing_could_be_measured_fails_and_its_report_has_the_reason() {
    let options = ["--through", "sockets", "--parts", "paper", "--arms", "cid", "--json", "-"];
    let output = dtls(&[&options[..], &["--link", "loopback"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("no cell could be measured: over a loopback interface"), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let reason = report["not_run"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("no address changes"), "{reason}");
}
