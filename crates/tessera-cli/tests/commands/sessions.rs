//! Reconnecting, from a new process each time.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tessera_test_peers::Directory;

use crate::program::{Server, facts, run, stderr, tessera};

#[test]
fn connect_resumes_a_session_of_an_earlier_process() {
    let server = Server::start(&[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let resumed: Vec<Value> =
        (0..3).map(|_| server.facts(&["--sessions", &sessions])["resumed"].clone()).collect();
    assert_eq!(resumed, [false, true, true]);
    let told: Vec<Value> = (0..3).map(|_| server.next()["psk"].clone()).collect();
    assert_eq!(told, [Value::Null, "resumption".into(), "resumption".into()]);
}

#[test]
fn connect_resumes_wrapped_sessions_with_their_key_alone() {
    let server = Server::start(&[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let raw = directory.path("raw.key");
    std::fs::write(&raw, [0xA5; 32]).unwrap();
    let hexadecimal = directory.write("hexadecimal.key", format!("{}\n", "a5".repeat(32)));
    let other = directory.write("other.key", "5a".repeat(32));
    let connect = |options: &[&str]| {
        let trust = ["--json", "-", "--fingerprint", &server.fingerprint, "--sessions", &sessions];
        let output = server.connect(&[&trust, options].concat(), "hello\n");
        (facts(&output)["resumed"].clone(), stderr(&output))
    };
    let with = |key| connect(&["--sessions-key", key]);
    assert_eq!([&raw, &hexadecimal].map(|key| with(key).0), [false, true]);
    for ((resumed, told), why) in [
        (with(&other), "wrapped session of another key"),
        (connect(&[]), "the store has no key"),
        (with(&raw), "not a wrapped session"),
    ] {
        assert!(resumed == false && told.contains("warning: ") && told.contains(why), "{told}");
    }
    assert_eq!(with(&raw).0, true);
}

#[test]
fn a_certificate_that_serve_makes_stays_in_its_state_and_clients_come_back() {
    let directory = Directory::new();
    let [state, sessions] = ["state", "sessions"].map(|name| directory.path(name));
    let key = directory.write("key", "a5".repeat(32));
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key, private.clone()).unwrap();
    let (written, kept) = (directory.path("written.pem"), format!("{state}/certificate.pem"));
    let options = ["--state", &state, "--state-key", &key, "--write-certificate", &written];
    let server = Server::start(&options);
    let (address, fingerprint) = (server.address.clone(), server.fingerprint.clone());
    assert_eq!(server.facts(&["--sessions", &sessions])["psk"], Value::Null);
    server.end();
    let mode = std::fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, private.mode() & 0o777);
    let root = std::fs::read_to_string(&written).unwrap();

    let server = Server::listening(&address, &options);
    assert_eq!(server.fingerprint, fingerprint);
    assert_eq!(server.facts(&["--sessions", &sessions])["psk"], "resumption");
    let output = server.connect(&["--json", "-", "--ca", &written], "hello\n");
    assert_eq!(facts(&output)["psk"], Value::Null);
    assert_eq!(std::fs::read_to_string(&written).unwrap(), root);
    server.end();

    // For other names there is another certificate.
    let others = [&options[..], &["--name", "other.example"]].concat();
    let server = Server::start(&others);
    assert_ne!(server.fingerprint, fingerprint);
    let fingerprint = server.fingerprint.clone();
    server.end();
    let server = Server::start(&others);
    assert_eq!(server.fingerprint, fingerprint);
    server.end();

    let text = std::fs::read_to_string(&kept).unwrap();
    std::fs::write(&kept, &text[..text.len() / 2]).unwrap();
    let output = run(tessera().args(["serve", "--listen", "127.0.0.1:0"]).args(&others), "");
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains(&kept) && told.contains("remove this file"), "{told}");
}

/// A session remembers that its server was accepted: one accepted without verification must not be used by a client
/// that verifies.
#[test]
fn connect_uses_a_session_only_under_the_trust_that_it_came_from() {
    let server = Server::start(&[]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    let insecure = ["--insecure-accept-any-certificate", "--sessions", &sessions, "--json", "-"];
    assert!(server.connect(&insecure, "").status.success());
    let told = server.facts(&["--sessions", &sessions]);
    assert_eq!(told["resumed"], false);
    assert!(
        server
            .connect(&["--fingerprint", &"00".repeat(32), "--sessions", &sessions], "")
            .status
            .code()
            == Some(1)
    );
}

#[test]
fn connect_resumes_nothing_where_the_server_gives_no_tickets() {
    let server = Server::start(&["--tickets", "0"]);
    let directory = Directory::new();
    let sessions = directory.path("sessions");
    for _ in 0..2 {
        assert_eq!(server.facts(&["--sessions", &sessions])["resumed"], false);
    }
}

#[test]
fn connect_sends_forward_secret_early_data() {
    let server = Server::start(&["--forward-secret-early-data"]);
    let directory = Directory::new();
    let (sessions, data) = (directory.path("sessions"), directory.write("data", "early"));
    let trust = ["--fingerprint", &server.fingerprint.clone(), "--sessions", &sessions];
    let early = ["--forward-secret-early-data", "--early-data", &data];
    for (expected, psk) in [("not-offered", Value::Null), ("accepted", "forward-secret".into())] {
        let output = server.connect(&[&trust[..], &early].concat(), " and late");
        assert!(output.status.success());
        assert_eq!(output.stdout, b"early and late");
        let told = server.next();
        assert_eq!((&told["early_data"], &told["psk"]), (&expected.into(), &psk));
    }
}

/// Each side must allow replayable early data by its own option.
#[test]
fn connect_sends_replayable_early_data_only_where_both_sides_allow_it() {
    const RISKY: &str = "--replayable-early-data-without-forward-secrecy";
    let directory = Directory::new();
    let data = directory.write("data", "early");
    for (allowed, expected) in [(true, "accepted"), (false, "not-offered")] {
        let server = Server::start(if allowed { &[RISKY] } else { &[] });
        let sessions = directory.path(&format!("sessions-{allowed}"));
        let fingerprint = server.fingerprint.clone();
        let mut options = vec!["--fingerprint", &fingerprint, "--sessions", &sessions];
        options.extend(["--early-data", &data]);
        let refused = server.connect(&options, "");
        assert_eq!((refused.status.code(), refused.stdout), (Some(2), Vec::new()));
        options.push(RISKY);
        // A register refuses tickets that are as old as itself.
        std::thread::sleep(std::time::Duration::from_millis(5));
        for _ in 0..2 {
            let output = server.connect(&options, "");
            assert_eq!(output.stdout, b"early");
        }
        server.next();
        assert_eq!(server.next()["early_data"], expected, "{allowed}");
    }
}
