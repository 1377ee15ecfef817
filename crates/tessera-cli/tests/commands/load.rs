//! `tessera connect --count`.

use serde_json::Value;

use crate::program::{Server, stderr};

fn measured(server: &Server, mode: &str) -> Value {
    server.facts(&["--count", "30", "--parallel", "3", "--mode", mode])
}

#[test]
fn every_mode_of_connect_count_makes_the_handshakes_that_it_names() {
    let server = Server::start(&[
        "--psk-only-without-forward-secrecy",
        "--forward-secret-early-data",
        "--replayable-early-data-without-forward-secrecy",
        "--quiet",
    ]);
    for (mode, resumed, early) in [
        ("full", 0, 0),
        ("psk-dhe", 30, 0),
        ("psk-only", 30, 0),
        ("0rtt", 30, 30),
        ("0rtt-fs", 30, 30),
    ] {
        let told = measured(&server, mode);
        assert_eq!(told["event"], "load");
        assert_eq!(told["mode"], mode);
        assert_eq!((&told["completed"], &told["failed"]), (&30.into(), &0.into()), "{told}");
        assert_eq!(told["resumed"], resumed, "{told}");
        assert_eq!(told["early_data_accepted"], early, "{told}");
        let time = |name: &str| told[name].as_u64().unwrap();
        assert!(time("median_micros") <= time("p95_micros"), "{told}");
        assert!(time("p95_micros") <= time("p99_micros"), "{told}");
        assert!(told["handshakes_per_second"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn connect_count_prints_a_table_and_nothing_else() {
    let server = Server::start(&[]);
    let output = server.connect(&["--fingerprint", &server.fingerprint, "--count", "5"], "");
    assert!(output.status.success(), "{}", stderr(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    for row in ["psk-dhe", "handshakes a second", "latency, p99", "100.0 %"] {
        assert!(table.contains(row), "{table}");
    }
    assert_eq!(output.stderr, b"", "no progress where there is no terminal");
}

#[test]
fn connect_count_fails_where_the_server_gives_no_tickets() {
    let server = Server::start(&["--tickets", "0"]);
    let output = server.connect(&["--fingerprint", &server.fingerprint, "--count", "5"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--mode full"), "{}", stderr(&output));
}

/// A server that answers and closes first is gone before the client's close_notify: the ticket has arrived.
#[test]
fn connect_count_goes_on_where_the_server_closes_first() {
    let server = Server::start(&[
        "--http",
        "--forward-secret-early-data",
        "--replayable-early-data-without-forward-secrecy",
        "--quiet",
    ]);
    // A register refuses tickets that are as old as itself.
    std::thread::sleep(std::time::Duration::from_millis(5));
    for mode in ["0rtt-fs", "0rtt"] {
        let told = server.facts(&["--count", "300", "--parallel", "4", "--mode", mode]);
        assert_eq!((&told["failed"], &told["resumed"]), (&0.into(), &300.into()), "{told}");
        assert_eq!(told["early_data_accepted"], 300, "{told}");
    }
}
