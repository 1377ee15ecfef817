//! Readers of a server's facts, and readers that stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::document::DOCUMENT;
use crate::program::{StartedServer, connect, facts, serve, signal};

/// A server whose facts the test reads when it chooses.
struct ReportingServer {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    address: String,
    fingerprint: String,
}

impl ReportingServer {
    fn start() -> Self {
        let StartedServer { child, stdout, address, fingerprint, .. } = serve(&[]);
        Self { child, stdout: Some(stdout), address, fingerprint }
    }

    /// Connects without TLS, which makes the server report something.
    fn bother(&self) {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.write_all(b"nonsense").unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    }

    /// Returns the next fact.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        DOCUMENT.parse(&line)
    }

    fn serves(&self) {
        let trust = ["--json", "-", "--fingerprint", &self.fingerprint];
        facts(&connect(&[&[self.address.as_str()], &trust[..]].concat(), "hello"));
    }

    /// Asks the server to end, and waits until it does.
    fn end(&mut self) {
        let started = Instant::now();
        signal(&self.child, "-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

impl Drop for ReportingServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A full pipe is 64 KiB: a few hundred connections fill it.
const MANY: usize = 500;

#[test]
fn an_unread_pipe_of_facts_stops_no_connection() {
    let mut server = ReportingServer::start();
    (0..MANY).for_each(|_| server.bother());
    server.serves();

    // No fact is lost while there was room.
    for _ in 0..MANY {
        assert!(server.next()["error"].is_string());
    }
    assert_eq!(server.next()["resumed"], false);

    // Nor does a full pipe prevent the end.
    (0..MANY).for_each(|_| server.bother());
    server.end();
}

#[test]
fn a_pipe_of_facts_that_is_closed_stops_no_connection() {
    let mut server = ReportingServer::start();
    server.stdout = None;
    (0..3).for_each(|_| server.bother());
    server.serves();
    server.end();
}
