//! Starts the programs, and talks to them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tessera_test_peers::{Directory, openssl};

use crate::document::DOCUMENT;

pub(crate) fn tessera() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
}

/// `tessera serve` on a free port, just started.
pub(crate) struct StartedServer {
    pub(crate) child: Child,
    /// Its standard output, after the first line.
    pub(crate) stdout: BufReader<ChildStdout>,
    /// The first line.
    pub(crate) listening: Value,
    pub(crate) address: String,
    pub(crate) fingerprint: String,
}

pub(crate) fn serve(options: &[&str]) -> StartedServer {
    serve_at("127.0.0.1:0", options)
}

fn serve_at(listen: &str, options: &[&str]) -> StartedServer {
    start(&[&["serve", "--listen", listen], options].concat())
}

/// Starts a command that listens.
fn start(arguments: &[&str]) -> StartedServer {
    let mut child =
        tessera().args(arguments).args(["--json", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let told = DOCUMENT.parse(&line);
    assert_eq!(told["event"], "listening");
    let address = told["address"].as_str().unwrap().to_owned();
    let fingerprint = told["fingerprint"].as_str().unwrap_or_default().to_owned();
    StartedServer { child, stdout, listening: told, address, fingerprint }
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

/// Replaces a file by a pipe.
pub(crate) fn replace_by_pipe(path: &str) {
    std::fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A server whose facts are read; ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Its facts; read at once, since it drops those that don't fit.
    told: Receiver<String>,
    pub(crate) listening: Value,
    pub(crate) address: String,
    pub(crate) fingerprint: String,
}

impl Server {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::of(serve(options))
    }

    pub(crate) fn listening(listen: &str, options: &[&str]) -> Self {
        Self::of(serve_at(listen, options))
    }

    /// `tessera connect --udp --listen`, which listens too, and trusts this server.
    pub(crate) fn listening_client(&self, options: &[&str]) -> Self {
        let own = [&self.address, "--udp", "--listen", "127.0.0.1:0"];
        let trust = ["--fingerprint", &self.fingerprint];
        Self::connecting(&[&own[..], &trust, options].concat())
    }

    /// `tessera connect` with options that let it listen.
    pub(crate) fn connecting(arguments: &[&str]) -> Self {
        Self::of(start(&[&["connect"], arguments].concat()))
    }

    fn of(StartedServer { child, stdout, listening, address, fingerprint }: StartedServer) -> Self {
        let (sender, told) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, told, listening, address, fingerprint }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// Returns the facts of the next connection that ended.
    pub(crate) fn next(&self) -> Value {
        self.next_within(Duration::from_secs(20)).unwrap()
    }

    /// As [`Server::next`], if one ends in time.
    pub(crate) fn next_within(&self, patience: Duration) -> Option<Value> {
        let line = self.told.recv_timeout(patience).ok()?;
        Some(DOCUMENT.parse(&line))
    }

    /// Runs `tessera connect` to it, with this input.
    pub(crate) fn connect(&self, options: &[&str], input: &str) -> Output {
        connect(&[&[self.address.as_str()], options].concat(), input)
    }

    /// As [`Server::connect`], trusting the server's certificate; returns the facts, which must exist.
    pub(crate) fn facts(&self, options: &[&str]) -> Value {
        let trust = ["--json", "-", "--fingerprint", &self.fingerprint];
        facts(&self.connect(&[&trust, options].concat(), "hello\n"))
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Ends the server; returns the lines since the last one read.
    pub(crate) fn end(mut self) -> Vec<Value> {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.told.iter().map(|line| DOCUMENT.parse(&line)).collect()
    }

    /// Waits for the server's end; returns the lines since the last one read, and its exit code.
    pub(crate) fn wait(mut self) -> (String, Option<i32>) {
        let code = self.child.wait().unwrap().code();
        (self.told.iter().collect(), code)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `tessera connect` with this input.
pub(crate) fn connect(arguments: &[&str], input: &str) -> Output {
    run(tessera().arg("connect").args(arguments), input)
}

/// Runs a program with this input.
pub(crate) fn run(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // In another thread: a program that waits for its output to be read doesn't read its input. A program that rejects
    // its options doesn't read at all.
    let writing = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// Returns the facts that a successful connection reported.
pub(crate) fn facts(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap())
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Certificates of one kind, made by OpenSSL: an authority, a server and a client.
pub(crate) struct Pki {
    pub(crate) directory: Directory,
}

impl Pki {
    pub(crate) fn new(kind: &[&str]) -> Self {
        let pki = Self { directory: Directory::new() };
        let mut authority = vec!["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=authority"];
        let (key, root) = (pki.path("root.key"), pki.path("root.pem"));
        authority.extend(["-newkey"].iter().chain(kind).copied());
        authority.extend(["-keyout", &key, "-out", &root]);
        openssl::run(&authority);
        pki.issue("server", "subjectAltName=DNS:localhost,IP:127.0.0.1", kind);
        pki.issue("client", "subjectAltName=DNS:client.example", kind);
        pki
    }

    /// Issues a certificate of the authority: `NAME.pem` with `NAME.key`, whose subject is the name.
    pub(crate) fn issue(&self, name: &str, names: &str, kind: &[&str]) {
        let (key, certificate) =
            (self.path(&format!("{name}.key")), self.path(&format!("{name}.pem")));
        let (root, root_key) = (self.path("root.pem"), self.path("root.key"));
        let subject = format!("/CN={name}");
        let mut arguments = vec!["req", "-x509", "-nodes", "-days", "2", "-subj", &subject];
        arguments.extend(["-newkey"].iter().chain(kind).copied());
        arguments.extend(["-CA", &root, "-CAkey", &root_key, "-addext", names]);
        arguments.extend(["-addext", "basicConstraints=CA:FALSE"]);
        arguments.extend(["-keyout", &key, "-out", &certificate]);
        openssl::run(&arguments);
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path(name)
    }
}

/// ECDSA on P-256, as arguments of `openssl req -newkey`.
pub(crate) const P256: &[&str] = &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

pub(crate) const RSA: &[&str] = &["rsa:2048"];
