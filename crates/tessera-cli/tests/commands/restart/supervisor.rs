//! Acts as a service manager: holds the listening socket, and starts one server after the other with it.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;
use tessera_test_peers::Directory;

use crate::document::DOCUMENT;
use crate::program::{P256, Pki, signal};

/// Names the directory for the key of a state.
pub(crate) const RUNTIME_DIRECTORY: &str = "RUNTIME_DIRECTORY";

pub(crate) struct Supervisor {
    socket: TcpListener,
    pub(crate) pki: Pki,
    /// Selects the servers' answers.
    options: &'static [&'static str],
    /// In memory, like a service manager's.
    runtime: Directory,
    files: Directory,
    running: Option<SupervisedProcess>,
}

struct SupervisedProcess {
    child: Child,
    told: JoinHandle<Vec<Value>>,
}

impl Supervisor {
    pub(crate) fn new(options: &'static [&'static str]) -> Self {
        Self {
            socket: TcpListener::bind("127.0.0.1:0").unwrap(),
            pki: Pki::new(P256),
            options,
            runtime: Directory::new_in(Path::new("/dev/shm")).unwrap(),
            files: Directory::new(),
            running: None,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// Starts a server, waits until it has opened its state, and returns what it found there.
    pub(crate) fn start(&mut self) -> Value {
        // The shell moves the socket to its descriptor, and becomes the server.
        let script = r#"exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@""#;
        let mut child = Command::new("sh")
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_tessera"), "serve"])
            .args(["--certificate", &self.pki.path("server.pem")])
            .args(["--key", &self.pki.path("server.key")])
            .args(["--state", &self.files.path("state"), "--forward-secret-early-data"])
            .args(["--max-connections-per-address", "10000", "--json", "-"])
            .args(self.options)
            .env(RUNTIME_DIRECTORY, self.runtime.as_path())
            .stdin(Stdio::from(OwnedFd::from(self.socket.try_clone().unwrap())))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = lines.map_while(Result::ok).map(|line| DOCUMENT.parse(&line));
        let listening: Value = told.next().expect("it listens");
        assert_eq!(listening["address"], self.address().to_string(), "{listening}");
        let found: Value = told.next().expect("it has a state");
        assert_eq!(found["event"], "state", "{found}");
        let told = std::thread::spawn(move || told.collect());
        self.running = Some(SupervisedProcess { child, told });
        found
    }

    /// Sends a signal, waits for the end, and returns what the server reported.
    pub(crate) fn end(&mut self, name: &str) -> (ExitStatus, Vec<Value>) {
        let SupervisedProcess { mut child, told } = self.running.take().expect("it was started");
        signal(&child, name);
        (child.wait().unwrap(), told.join().unwrap())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(SupervisedProcess { mut child, .. }) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns how many flights of these connections a server accepted.
pub(crate) fn accepted(told: &[Value]) -> usize {
    told.iter().filter(|fact| fact["early_data"] == "accepted").count()
}
