//! `tessera lab bithac`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::collections::HashMap;
use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tessera_test_peers::Directory;

fn bithac(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "bithac"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// Runs with the emulated link; `None` only if the machine forbids it, which must not happen to root.
fn report(arguments: &[&str]) -> Option<Value> {
    let output = bithac(&[arguments, &["--link", "tun", "--json", "-"]].concat());
    if !tessera_test_peers::has_link(&output) {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("IP+TCP           whole IP packets"), "the tables: {stderr}");
    Some(serde_json::from_slice(&output.stdout).expect("standard output is the report alone"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Few cells and a fixed seed; checks everything that other programs may rely on.
#[test]
fn the_bithac_report_has_the_bytes_of_every_layer_and_direction() {
    let ways = ["full", "cached", "cached-first", "cached-miss", "raw-keys", "psk-dhe", "0rtt-fs"];
    let ways_asked = ways.join(",");
    let options = [
        "--parts",
        "bytes,losses",
        "--ways",
        &ways_asked,
        "--certificates",
        "p-256",
        "--mtu",
        "1500,127",
        "--loss",
        "1%",
        "--repetitions",
        "10",
        "--seed",
        "7",
    ];
    let Some(report) = report(&options) else { return };
    assert_eq!((&report["experiment"], &report["seed"]), (&"bithac".into(), &7.into()));
    assert_eq!(report["link"], "tun");
    assert_eq!(report["chains"][0]["client"].as_array().map(Vec::len), Some(2));
    let mut handshakes = HashMap::new();
    for cell in report["cells"].as_array().expect("cells") {
        let part = cell["part"].as_str().expect("a part");
        let samples = cell["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), if part == "bytes" { 1 } else { 2 }, "{cell}");
        for sample in samples {
            check_sample(sample, part, &cell["link"]);
        }
        let [client, server] = ["client", "server"].map(|side| &samples[0][side]["handshake"]);
        let name = (part.to_owned(), cell["way"].as_str().expect("a way").to_owned());
        let bytes = number(client) + number(server);
        handshakes.entry((name, number(&cell["link"]["mtu"]))).or_insert(bytes);
    }
    assert_eq!(handshakes.len(), 2 * ways.len() * 2);
    let of = |way: &str| handshakes[&(("bytes".to_owned(), way.to_owned()), 1500)] as f64;
    // The length of an ECDSA signature varies by some bytes.
    let full = of("full");
    assert!(of("cached") < 0.34 * full && of("cached-first") < full + 16.0 + 6.0, "{handshakes:?}");
    assert!(
        of("cached-miss") < full + 40.0 + 6.0 && of("psk-dhe") < of("raw-keys"),
        "{handshakes:?}"
    );
}

fn check_sample(sample: &Value, part: &str, link: &Value) {
    let time = |name: &str| sample[name].as_f64().expect("a time");
    let [tcp, handshake, response] = ["tcp_us", "handshake_us", "response_us"].map(time);
    assert!(0.0 < tcp && tcp < handshake && handshake < response, "{sample}");
    for side in ["client", "server"] {
        let bytes = |layer: &str| number(&sample[side][layer]);
        assert!(bytes("handshake") < bytes("tls") && bytes("payload") < bytes("ip"), "{sample}");
        assert!(bytes("ip") <= bytes("packets") * number(&link["mtu"]), "{sample}");
        if part == "bytes" {
            assert_eq!(bytes("payload"), bytes("tls"), "nothing was sent again: {sample}");
        }
    }
}

#[test]
fn computed_parts_need_no_link() {
    let counts = cfg!(feature = "heap");
    let parts = if counts { "work,hits,memory" } else { "work,hits" };
    let options = ["--parts", parts, "--certificates", "p-256", "--repetitions", "1"];
    let ways = ["--ways", "full,known,cached", "--clients", "1000"];
    let output = bithac(&[&options[..], &ways, &["--link", "loopback", "--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(report["link"].is_null());
    let rows = |name: &str| report[name].as_array().expect("rows").len();
    let found = [rows("cells"), rows("work"), rows("hits"), rows("memory")];
    assert_eq!(found, [0, 3 * 4, 5, if counts { 4 } else { 0 }]);
    let kept: Vec<_> = report["many"].as_array().expect("rows").iter().collect();
    let forms: &[&str] = if counts { &["certificates", "hashes"] } else { &[] };
    assert_eq!(kept.iter().map(|it| &it["kept"]).collect::<Vec<_>>(), forms);
    assert!(kept.iter().all(|it| number(&it["clients"]) == 1000), "{kept:?}");
    for work in report["work"].as_array().expect("rows") {
        let chain = number(&work["chain"]);
        let checks = if work["way"] == "full" { chain + 1 } else { 1 };
        assert_eq!(
            [&work["client_verifications"], &work["server_verifications"]],
            [checks, checks],
            "{work}"
        );
        let instructions = &work["instructions"];
        assert!(instructions["retired"].is_object() || instructions["uncounted"].is_string());
    }
}

#[test]
fn handshakes_over_datagrams_need_no_link() {
    let options = ["--parts", "datagrams", "--certificates", "rsa-2048", "--repetitions", "2"];
    let ways = ["--ways", "full,cached,known", "--loss", "5%", "--link", "loopback", "--json", "-"];
    let output = bithac(&[&options[..], &ways].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(report["link"].is_null() && report["cells"] == Value::Array(Vec::new()));
    let cells = report["datagrams"].as_array().expect("cells");
    // Two ways, two MTUs, without losses and with: an observer sees no difference between known and full.
    assert_eq!(cells.len(), 2 * 2 * 2);
    for cell in cells {
        let lossless = cell["link"]["loss"] == 0.0;
        for column in cell["samples"].as_object().expect("columns").values() {
            assert_eq!(column.as_array().map(Vec::len), Some(if lossless { 1 } else { 2 }));
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let directory = Directory::new();
    let journal = directory.path("cells.jsonl");
    let common = [
        "--parts",
        "bytes",
        "--certificates",
        "p-256",
        "--ways",
        "full,cached",
        "--resume",
        &journal,
    ];
    let Some(first) = report(&[&common[..], &["--mtu", "1500"]].concat()) else { return };
    // As if interrupted while a cell was written.
    let kept = fs::read_to_string(&journal).expect("a journal");
    fs::write(&journal, format!("{kept}{{\"cell\":")).expect("writes");
    let both = report(&[&common[..], &["--mtu", "1500,576"]].concat()).expect("the link is there");
    let cells = |report: &Value| report["cells"].as_array().expect("cells").clone();
    assert_eq!((cells(&first).len(), cells(&both).len()), (2, 4));
    assert_eq!(cells(&both)[..2], cells(&first), "they were measured again");

    let other = bithac(&[&common[..], &["--seed", "2"]].concat());
    let stderr = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("seed"), "{stderr}");
}

#[test]
fn bithac_options_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--link", "loopback"].as_slice(), ["--link loopback", "--parts datagrams,work"]),
        (&["--parts", "speed"], ["parts are", "bytes, losses"]),
        (&["--parts", "work", "--ways", "psk-dhe"], ["--parts", "nothing in common"]),
        (&["--parts", "bytes", "--ways", "known"], ["--ways", "in memory alone"]),
        (&["--parts", "datagrams", "--mtu", "1500"], ["--mtu", "below 1228"]),
        #[cfg(not(feature = "heap"))]
        (&["--parts", "memory"], ["--parts memory", "--features heap"]),
        (&["--ways", "half"], ["ways are", "full, zlib"]),
        (&["--certificates", "rsa"], ["rsa-2048", "ml-dsa-87"]),
        (&["--mtu", "60"], ["--mtu", "96"]),
        (&["--mtu", "576,576"], ["--mtu", "occurs twice"]),
        (&["--json", "/nowhere/report.json"], ["--json", "directory"]),
    ] {
        let output = bithac(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
}
