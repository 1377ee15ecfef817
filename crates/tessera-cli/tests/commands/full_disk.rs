//! Facts that can't be written.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use tessera_test_peers::Directory;

use crate::program::{Server, connect, run, signal, stderr, tessera};

/// `/dev/full` behaves like a full disk.
#[test]
fn facts_that_can_not_be_written_are_an_error() {
    let full = |arguments: &[&str]| {
        let output = run(tessera().args(arguments).args(["--json", "/dev/full"]), "hello");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("--json /dev/full") && told.contains("No space"), "{told}");
    };
    full(&["serve", "--listen", "0"]);
    let server = Server::start(&[]);
    let connect = ["connect", &server.address, "--fingerprint", &server.fingerprint];
    full(&connect);
    full(&[&connect[..], &["--count", "2", "--mode", "full"]].concat());

    // Nor does a failure to write the table for people, or the error, go unnoticed.
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, "sh", env!("CARGO_BIN_EXE_tessera")]);
        run(shell.args(&connect[1..]), "").status.code()
    };
    assert_eq!(shell("t=$1; shift; $t connect \"$@\" --count 2 --mode full >/dev/full"), Some(1));
    assert_eq!(
        shell("$1 connect 127.0.0.1:1 --psk a:000102030405060708090a0b0c0d0e0f 2>/dev/full"),
        Some(1)
    );
    assert_eq!(shell("$1 serve --listen 192.0.2.1:1 2>/dev/full"), Some(1));
}

/// Facts are lost while the disk is full; clients do not notice.
#[test]
fn a_disk_that_fills_up_stops_no_connection_of_serve() {
    // A limit on the file's size looks like a full disk to the writer.
    let directory = Directory::new();
    let facts = directory.path("facts");
    let line = "ulimit -f 4; trap '' XFSZ; exec \"$0\" serve --listen 127.0.0.1:0 --json \"$1\"";
    let mut child = Command::new("bash")
        .args(["-c", line, env!("CARGO_BIN_EXE_tessera"), &facts])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut listening = String::new();
    told.read_line(&mut listening).unwrap();
    let address = listening.trim_end().rsplit_once(' ').unwrap().1;
    for _ in 0..20 {
        let options = [address, "--insecure-accept-any-certificate"];
        let output = connect(&options, "hello");
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"hello"[..]));
    }
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(told.matches("warning: ").count(), 1, "{told}");
    assert!(told.contains(&facts) && told.contains("error: "), "{told}");
    let facts = fs::read_to_string(facts).unwrap();
    assert!(facts.lines().count() > 2, "{facts}");
}
