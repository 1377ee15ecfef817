//! `serve --udp --sockets` and `connect --udp --follow-server`.

use std::process::Command;
use std::sync::atomic::Ordering;

use tessera_test_peers::wait_until;

use crate::datagrams::measure_datagrams;
use crate::forwarding::{echo, exchange, program};
use crate::program::{Server, run, stderr, tessera};

/// The shared socket is behind a relay; the own one isn't.
#[test]
fn connect_follows_a_server_to_a_socket_of_its_own() {
    let target = echo().to_string();
    let sockets = ["--udp", "--sockets", "tcs", "--socket-ports", "20000-29999"];
    let forward = ["--forward", &target, "--forward-dtls12", &target];
    let server = Server::start(&[&sockets[..], &forward].concat());
    let (shared, longest) = measure_datagrams(&server.address);
    let connect = ["--udp", "--listen", "127.0.0.1:0", "--fingerprint", &server.fingerprint];
    let client = Server::connecting(&[&[&shared, "--follow-server"], &connect[..]].concat());
    let local = program(&client);
    wait_until("the client is at its own socket", || {
        longest[0].store(0, Ordering::Relaxed);
        exchange(&local, b"question");
        (longest[0].load(Ordering::Relaxed) == 0).then_some(())
    });
    // DTLS 1.2 goes on at the shared one, with a connection ID for instance.
    exchange(&program(&server), &[25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    exchange(&local, b"question");
}

/// ServerHello comes from there.
#[test]
fn connect_follows_a_server_that_answers_from_another_port() {
    let server = Server::start(&["--udp", "--sockets", "ipc"]);
    let follow = ["--udp", "--follow-server", "--fingerprint", &server.fingerprint];
    let output = server.connect(&follow, "hello\n");
    assert_eq!(output.stdout, b"hello\n", "{}", stderr(&output));
}

#[test]
fn ports_of_sockets_that_no_association_has_are_refused() {
    let output = run(tessera().args(["serve", "--udp", "--socket-ports", "20000-29999"]), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("add --sockets tcs or ipc"), "{}", stderr(&output));
}

/// Runs `tessera serve` over UDP with this many files for two seconds; returns what it wrote, and its exit code.
fn with_files(files: u32, options: &str) -> (String, Option<i32>) {
    let line = format!(
        "ulimit -n {files}; exec timeout -s TERM 2 \"$0\" serve --udp --listen 127.0.0.1:0 {options}"
    );
    let mut command = Command::new("bash");
    command.args(["-c", &line]).arg(env!("CARGO_BIN_EXE_tessera"));
    let output = run(&mut command, "");
    let words = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    (words, output.status.code())
}

/// Forwarding takes a file for each connection; an own socket that isn't there is shared.
#[test]
fn a_server_that_lacks_files_reports_how_many_connections_it_takes() {
    let (words, _) = with_files(70, "--forward 127.0.0.1:9");
    assert!(words.contains("at most 6 connections: no more files may be open"), "{words}");
    let (words, code) = with_files(60, "--forward 127.0.0.1:9");
    assert!(words.contains("at most 0 connections"), "{words}");
    assert_eq!(code, Some(1), "{words}");
    let (words, code) = with_files(60, "--sockets tcs");
    assert!(!words.contains("at most"), "{words}");
    assert_eq!(code, Some(124), "it serves until it is asked to end: {words}");
}
