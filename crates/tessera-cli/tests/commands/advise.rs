//! `tessera advise`.

use std::process::{Command, Output};

use serde_json::{Value, json};
use tessera_test_peers::Directory;

fn advise(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera")).arg("advise").args(arguments).output().unwrap()
}

#[track_caller]
fn stdout(arguments: &[&str]) -> String {
    let output = advise(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = advise(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

const FACTS: &str = "\
round-trip = \"134ms\"
reconnections-per-hour = 4
peer-tls = \"tessera\"
early-requests = \"at-most-once\"
";

#[test]
fn facts_come_from_a_file_and_from_options_which_count_more() {
    let directory = Directory::new();
    let file = directory.write("facts.toml", FACTS);
    assert!(stdout(&[&file]).starts_with("(e) 0-RTT FS, "));
    assert!(stdout(&[&file, "--peer-tls", "stock"]).starts_with("(c) PSK with key exchange, "));
    let options = ["--round-trip", "134ms", "--reconnections-per-hour", "4", "--json"];
    let advice: Value = serde_json::from_str(&stdout(&options)).unwrap();
    assert_eq!(advice["way"]["option"], "c");
    assert!(advice["lines"].as_array().unwrap().len() >= 4, "{advice}");
}

#[test]
fn table_6_has_the_papers_judgement_next_to_the_measured_one() {
    let table = stdout(&["--table-6"]);
    assert!(table.contains("round-trip time of 134 ms"), "{table}");
    for row in ["\nPSK\n", "\n0-RTT FS\n", "\nPSK + 0-RTT\n", "\nfull handshake\n"] {
        assert!(table.contains(row), "{row}: {table}");
    }
    let near: Value =
        serde_json::from_str(&stdout(&["--table-6", "--round-trip", "33ms", "--json"])).unwrap();
    assert_eq!(near["rtt_ms"], 33.0);
    assert_eq!(near["rows"][2]["ours"]["assessment"], "concerning");
}

#[test]
fn facts_that_contradict_each_other_are_refused_with_file_line_and_fact() {
    let directory = Directory::new();
    let file = directory.write("facts.toml", format!("{FACTS}accept-risk = [\"replay\"]\n"));
    let told = refused(&[&file]);
    assert!(
        told.starts_with(&format!("error: {file}:5: accept-risk: replay is accepted")),
        "{told}"
    );
    assert!(told.contains("; leave the risk out, or set "), "what to do: {told}");
    let told = refused(&["--round-trip", "1ms", "--reconnections-per-hour", "often"]);
    assert!(told.starts_with("error: --reconnections-per-hour: `often`"), "{told}");
    let told = refused(&["--round-trip", "1ms"]);
    assert!(told.contains("--reconnections-per-hour: this fact is required"), "{told}");
    let told = refused(&[&directory.path("absent.toml")]);
    assert!(told.contains("there is no such file"), "{told}");
    refused(&["--table-6", &file]);
    let told = refused(&["--table-6", "--round-trip", "1ms", "--connections", "many"]);
    assert!(told.contains("--connections: --table-6 uses round-trip alone; leave"), "{told}");
    let told = refused(&["--evidence", "--round-trip", "1ms"]);
    assert!(told.contains("--round-trip: --evidence uses no facts; leave this out"), "{told}");
}

/// Returns a report with two ways, in which a resumption takes longer than a full handshake.
fn slow_resumptions() -> Value {
    let row = |mode: &str, response_us: f64| {
        let sample = json!({
            "tcp_us": 1.0, "first_byte_us": response_us, "handshake_us": response_us,
            "response_us": response_us, "client_engine_us": 50.0, "server_engine_us": 40.0,
            "client_cpu_us": 90.0, "server_cpu_us": 90.0,
        });
        json!({
            "mode": mode, "kx": "x25519mlkem768", "ticket_key": null, "continuation": null,
            "fast_open": null, "rtt_ms": 0.0, "samples": vec![sample; 7], "first_flight": 500,
            "bytes": { "client": 900, "server": 900 }, "heap": { "client": 1, "server": 1 },
            "verdicts": {
                "first_byte_fs": "handshake", "session_fs": "handshake",
                "replay_executions": 1, "pq_confidentiality": true,
            },
        })
    };
    json!({
        "experiment": "reconnect", "seed": 1,
        "machine": { "cpu": "another processor", "cores": 2, "kernel": "Linux" },
        "link": {
            "kind": "tun", "loss": 0.0, "loss_burst": 1.0, "congestion": null, "congestion_ms": null,
            "jitter_ms": 0.0, "rate_bps": null, "mtu": 1500,
        },
        "rows": [row("full", 1e3), row("psk-dhe", 2e3)],
    })
}

#[test]
fn measurements_of_ones_own_count_instead_of_those_that_come_with_the_program() {
    let directory = Directory::new();
    let results = directory.path(".");
    let facts = ["--round-trip", "0", "--reconnections-per-hour", "4", "--results", &results];
    let told = refused(&facts);
    assert!(told.contains("none of reconnect.json, roaming.json, load.json is there"), "{told}");
    assert!(told.contains("tessera lab reconnect --rtt 0,134ms --repetitions 41 "), "{told}");

    directory.write("reconnect.json", slow_resumptions().to_string());
    let advice = stdout(&facts);
    assert!(advice.starts_with("(a) full handshake, X25519MLKEM768\n"), "{advice}");
    assert!(advice.contains("another processor"), "{advice}");
    let label = "what ways protect: the evidence that comes with the program, lab reconnect";
    assert!(advice.contains(label), "{advice}");
    let evidence: Value =
        serde_json::from_str(&stdout(&["--evidence", "--results", &results])).unwrap();
    assert_eq!(evidence["cells"].as_array().unwrap().len(), 2, "costs of no other machine");
    assert!(evidence["protections"].as_array().unwrap().len() > 10, "attacks of everywhere");

    // It has no data on other distances, and little on few samples.
    let far = ["--round-trip", "134ms", "--reconnections-per-hour", "4", "--results", &results];
    let told = refused(&far);
    assert!(told.contains("it was measured at 0 ms alone"), "{told}");
    assert!(told.contains("tessera lab reconnect --rtt 0,134ms --repetitions 41 "), "{told}");
    let mut few = slow_resumptions();
    for row in few["rows"].as_array_mut().unwrap() {
        row["samples"].as_array_mut().unwrap().truncate(2);
    }
    directory.write("reconnect.json", few.to_string());
    let told = refused(&facts);
    assert!(told.contains("n = 2 of (a) full handshake, X25519MLKEM768: six samples"), "{told}");

    let mut broken = slow_resumptions();
    broken["rows"][1]["rtt_ms"] = json!("far");
    directory.write("reconnect.json", broken.to_string());
    let told = refused(&facts);
    assert!(told.contains("reconnect.json: rows[1].rtt_ms: "), "{told}");
}

#[test]
fn negative_numbers_are_refused_in_our_own_words() {
    for (option, value, expected) in [
        ("--reconnections-per-hour", "-1", "`-1`: expected a number from 0 to"),
        ("--reconnections-per-hour", "0", "a connection that never reconnects"),
        ("--connections", "-1", "`-1`: expected a whole number from 1 to"),
        ("--round-trip", "-1ms", "`-1ms`: expected a time with its unit"),
        ("--processor-price", "-1", "`-1`: expected a number from 0 to"),
        ("--ticket-memory", "-1MiB", "`-1MiB`: expected bytes with their unit"),
    ] {
        let mut arguments = vec![option, value];
        for needed in ["--round-trip", "--reconnections-per-hour"] {
            if option != needed {
                arguments.extend([needed, if needed == "--round-trip" { "1ms" } else { "4" }]);
            }
        }
        let told = refused(&arguments);
        assert!(told.starts_with(&format!("error: {option}: ")), "{told}");
        assert!(told.contains(expected) && !told.contains("tip"), "{told}");
    }
}

#[test]
fn only_a_sepp_gets_the_settings_of_a_sepp() {
    let directory = Directory::new();
    let file = directory.write("facts.toml", FACTS);
    let sepp = stdout(&[&file, "--application", "sepp"]);
    let mut lines = sepp.lines();
    assert!(lines.next().unwrap().starts_with("(e) 0-RTT FS, "), "{sepp}");
    let set = lines.next().unwrap();
    assert!(set.starts_with("set: [peer.NAME.reconnection] early-data = \"fs\", "), "{sepp}");
    assert!(sepp.contains("one-time key X25519MLKEM768, psk_dhe_ke, X25519MLKEM768\n"), "{sepp}");
    assert!(!stdout(&[&file]).contains("peer.NAME"));
}

#[test]
fn the_help_lists_what_the_advice_does_not_know() {
    let help = stdout(&["--help"]);
    assert!(help.contains("external PSKs and without certificates"), "{help}");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advise.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("## What it doesn't know"));
}
