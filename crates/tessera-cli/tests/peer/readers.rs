//! Who reads what a server tells, or doesn't.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{connect, facts, tessera};

/// A server, and its standard output, of which the first line was read.
struct Told {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    address: String,
    fingerprint: String,
}

fn serve() -> Told {
    let mut child = tessera()
        .args(["serve", "--listen", "127.0.0.1:0", "--json", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let text = |name: &str| told[name].as_str().unwrap().to_owned();
    let (address, fingerprint) = (text("address"), text("fingerprint"));
    Told { child, stdout: Some(stdout), address, fingerprint }
}

impl Told {
    /// A client that is no client: it makes the server tell something.
    fn bother(&self) {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.write_all(b"nonsense").unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    }

    /// What it tells next.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn serves(&self) {
        let trust = ["--json", "-", "--fingerprint", &self.fingerprint];
        facts(&connect(&[&[self.address.as_str()], &trust[..]].concat(), "hello"));
    }

    /// Asks the server to end, and waits until it does.
    fn end(&mut self) {
        let started = Instant::now();
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A full pipe is 64 KiB: a few hundred connections fill it.
const MANY: usize = 500;

#[test]
fn a_pipe_that_nobody_reads_stops_no_connection() {
    let mut server = serve();
    (0..MANY).for_each(|_| server.bother());
    server.serves();

    // Nothing is lost that there was room for.
    for _ in 0..MANY {
        assert!(server.next()["error"].is_string());
    }
    assert_eq!(server.next()["resumed"], false);

    // Nor does it stop the end.
    (0..MANY).for_each(|_| server.bother());
    server.end();
}

#[test]
fn a_pipe_that_is_closed_stops_no_connection() {
    let mut server = serve();
    server.stdout = None;
    (0..3).for_each(|_| server.bother());
    server.serves();
    server.end();
}
