//! `tessera lab roaming` through two SEPPs, the program as a user starts it.
#![cfg(all(feature = "lab", feature = "sepp"))]

use std::process::{Command, Output};

use serde_json::Value;

fn roaming(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "roaming", "--link", "loopback"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// Three cells of the grid: one with a round trip of TLS, one without, and one that SEPPs don't support.
#[test]
fn a_registration_goes_through_two_sepps_on_connections_that_come_back() {
    let cells = "through=sepp,link=none,store=memory,option=c|d|e";
    let output = roaming(&["--cells", cells, "--repetitions", "3", "--seed", "7", "--json", "-"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report alone");

    let cells = report["cells"].as_array().expect("cells");
    let of = |cell: &Value| {
        ["option", "mode", "kx", "suite"]
            .map(|field| cell[field].as_str().unwrap_or("null").to_owned())
    };
    let (hybrid, suite) = ("x25519mlkem768", "0x1301");
    let expected = [["c", "psk-dhe", hybrid, suite], ["e", "0rtt-fs", hybrid, suite]];
    assert_eq!(cells.iter().map(of).collect::<Vec<_>>(), expected, "{stderr}");
    for cell in cells {
        let registration = &cell["registration"];
        assert_eq!(registration["exchanges"], 13);
        let whole = registration["samples_us"].as_array().expect("registrations");
        let samples = &cell["samples"];
        let count = samples["response_us"].as_array().expect("samples").len();
        assert_eq!((count, whole.len()), (3, 3));
        for (row, whole) in whole.iter().enumerate() {
            let us = |field: &str| {
                samples[field][row].as_f64().unwrap_or_else(|| panic!("{field}: {samples}"))
            };
            assert!(
                0.0 < us("first_byte_us") && us("first_byte_us") < us("response_us"),
                "{samples}"
            );
            assert!(us("response_us") < whole.as_f64().expect("µs"), "{cell}");
            assert!(us("client_cpu_us") > 0.0 && us("server_cpu_us") > 0.0, "{samples}");
            for within in ["send_us", "receive_us", "tcp_us", "handshake_us", "client_engine_us"] {
                assert_eq!(samples[within], Value::Null, "a SEPP does not show it");
            }
        }
        for side in ["client", "server"] {
            assert!(registration["cpu_us"][side].as_f64() > Some(0.0), "{registration}");
            assert!(registration["resident"][side].as_u64() > Some(1 << 20), "{registration}");
        }
    }
    let not_run = report["not_run"].as_array().expect("what is missing");
    let [missing] = not_run.as_slice() else { panic!("{not_run:?}") };
    assert_eq!(missing["option"], "d");
    assert_eq!(missing["reason"], "a SEPP sends no replayable early data");
}
