//! TCP Fast Open at both ends, in network namespaces with their own sysctls.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;
use tessera_link::{End, Link, LinkParameters};
use tessera_test_peers::Directory;

use super::document::DOCUMENT;
use super::emulated::{self, at};
use super::program::tessera;

const SERVE: [&str; 6] =
    ["--forward-secret-early-data", "--groups", "x25519", "--tickets", "3", "--tcp-fast-open"];

/// Makes a link with these values of `tcp_fastopen`.
fn link(server: u32) -> Option<Link> {
    let link = emulated::link(&LinkParameters::default())?;
    for (end, value) in [(End::Server, server), (End::Client, 1)] {
        let set = move || fs::write("/proc/sys/net/ipv4/tcp_fastopen", value.to_string());
        at(&link, end, set).unwrap();
    }
    Some(link)
}

/// `tessera serve` at its end of a link; ends when it is dropped.
struct Server {
    child: Child,
    told: BufReader<ChildStdout>,
    listening: Value,
}

impl Server {
    fn start(link: &Link) -> Self {
        let listen = format!("{}:0", link.addresses().server);
        let mut command = tessera();
        command.args(["serve", "--listen", &listen, "--json", "-"]).args(SERVE);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = link.spawn(End::Server, command).unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, told, listening: Value::Null };
        server.listening = server.next();
        server
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        DOCUMENT.parse(&line)
    }

    /// Runs `tessera connect` at the other end, and returns its exit code, facts and standard error.
    fn connect(&self, link: &Link, options: &[&str]) -> (Option<i32>, Value, String) {
        let address = self.listening["address"].as_str().unwrap();
        let fingerprint = self.listening["fingerprint"].as_str().unwrap();
        let mut command = tessera();
        command.args(["connect", address, "--fingerprint", fingerprint, "--json", "-"]);
        command.args(["--groups", "x25519", "--tcp-fast-open"]).args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = link.spawn(End::Client, command).unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        let mut words = String::new();
        child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
        let output = child.wait_with_output().unwrap();
        let facts = String::from_utf8(output.stdout).unwrap();
        let facts = facts.lines().last().map_or(Value::Null, |line| DOCUMENT.parse(line));
        (output.status.code(), facts, words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn early_data_travels_in_the_syn_and_both_ends_report_it() {
    let Some(link) = link(2) else { return };
    let mut server = Server::start(&link);
    assert_eq!(server.listening["fast_open"], "on");
    assert_eq!(server.listening["fast_open_lacks"], Value::Null);
    let directory = Directory::new();
    let question = directory.write("question", "question");
    let sessions = directory.path("sessions");
    let options =
        ["--sessions", &sessions, "--early-data", &question, "--forward-secret-early-data"];

    let (code, facts, words) = server.connect(&link, &options);
    assert_eq!(code, Some(0), "{words} {facts}");
    assert_eq!((&facts["fast_open"], &facts["syn_bytes"]), (&"no-cookie".into(), &0.into()));
    assert_eq!(server.next()["fast_open"], Value::Null);

    let (code, facts, words) = server.connect(&link, &options);
    assert_eq!(code, Some(0), "{words} {facts}");
    assert_eq!((&facts["fast_open"], &facts["early_data"]), (&"taken".into(), &"accepted".into()));
    assert!(facts["syn_bytes"].as_u64() > Some(500), "{facts}");
    let facts = server.next();
    assert_eq!((&facts["fast_open"], &facts["early_data"]), (&"taken".into(), &"accepted".into()));

    // With many connections, each of the measured ones has a cookie.
    let (code, load, words) = server.connect(&link, &["--count", "20", "--mode", "0rtt-fs"]);
    assert_eq!(code, Some(0), "{words} {facts}");
    assert_eq!((&load["begun_in_syn"], &load["failed"]), (&20.into(), &0.into()), "{load}");

    // The server is gone, and the client has its cookie.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let (code, _, words) = server.connect(&link, &options);
    assert_eq!(code, Some(1));
    for told in ["nothing listens there", "8 bytes of early data may have been executed"] {
        assert!(words.contains(told), "{told}: {words}");
    }
}

#[test]
fn a_system_that_takes_no_data_in_syns_is_named_and_serves() {
    let Some(link) = link(1) else { return };
    let mut server = Server::start(&link);
    assert_eq!(server.listening["fast_open"], "off");
    let lacks = server.listening["fast_open_lacks"].as_str().unwrap();
    assert!(lacks.contains("net.ipv4.tcp_fastopen is 1: 2 lets"), "{lacks}");
    for _ in 0..2 {
        let (code, facts, words) = server.connect(&link, &[]);
        assert_eq!((code, &facts["fast_open"]), (Some(0), &"no-cookie".into()), "{words}");
        assert_eq!(server.next()["fast_open"], Value::Null);
    }
}
