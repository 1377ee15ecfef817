//! `--cache-certificates` with concurrent users of a directory, killed processes, and full disks.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

use crate::cached_certificates::{CACHED, Ends, found, none_is_cached, ways};
use crate::document::DOCUMENT;
use crate::program::{Server, facts, run, signal, stderr, tessera};

/// A client that waits for an answer, and what its ClientHello has as `cached_certificates`.
struct WaitingClient {
    child: Child,
    socket: TcpStream,
    /// The record of its ClientHello.
    sent: Vec<u8>,
    tickets: Vec<u8>,
}

impl WaitingClient {
    /// Starts a client, and waits for its ClientHello.
    fn start(ends: &Ends, silent: &TcpListener) -> Self {
        let address = silent.local_addr().unwrap().to_string();
        let mut command = tessera();
        command.args(["connect", &address]).args(ends.options());
        let command = command.stdin(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let (mut socket, _) = silent.accept().unwrap();
        let mut header = [0; 5];
        socket.read_exact(&mut header).unwrap();
        let mut hello = vec![0; u16::from_be_bytes([header[3], header[4]]).into()];
        socket.read_exact(&mut hello).unwrap();
        let tickets = tickets_in(&hello);
        Self { child, socket, sent: [&header[..], &hello].concat(), tickets }
    }

    /// Answers the client, which ends properly.
    fn go_on(mut self, server: &Server) {
        drop(self.child.stdin.take());
        let mut forth = TcpStream::connect(&server.address).unwrap();
        forth.write_all(&self.sent).unwrap();
        let (mut from, mut to) = (self.socket.try_clone().unwrap(), forth.try_clone().unwrap());
        let sending = std::thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let _ = copy(&mut forth, &mut self.socket);
        let _ = self.socket.shutdown(Shutdown::Write);
        assert!(self.child.wait().unwrap().success());
        sending.join().unwrap();
    }

    fn kill(mut self) -> Vec<u8> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.tickets
    }
}

/// Returns the extension that the client sends (docs/cached-handshakes.md, section 4).
fn tickets_in(hello: &[u8]) -> Vec<u8> {
    let at = hello
        .windows(4)
        .position(|it| [[0xff, 0x5c, 0, 0], [0xff, 0x5c, 0, 16]].iter().any(|is| is == it));
    let body = &hello[at.unwrap() + 2..];
    body[2..2 + usize::from(body[1])].to_vec()
}

/// Returns ends that have met often enough to have the most tickets that sequential connections leave: three.
fn met() -> (Ends, String) {
    let ends = Ends::new();
    let server = ends.serve();
    (0..3).for_each(|_| drop(ends.connect(&server)));
    let address = server.address.clone();
    server.end();
    (ends, address)
}

/// A ticket that may have been sent is never sent again; one that was not is kept for the next connection.
#[test]
fn tickets_are_sent_once_whatever_becomes_of_a_client() {
    let (ends, address) = met();
    // Nothing listens.
    for _ in 0..3 {
        let output = ends.run(&address, &[]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    }
    let server = ends.serve_at(&address, &[]);
    assert_eq!(ways(&ends.connect(&server)), CACHED);
    server.end();

    // The client is killed before it is answered: it has lost only what it sent.
    let silent = TcpListener::bind(&address).unwrap();
    let sent = WaitingClient::start(&ends, &silent).kill();
    let (first, second) = sent.split_at(8);
    let next = WaitingClient::start(&ends, &silent).kill();
    let (other, _random) = next.split_at(8);
    assert!(other != first && other != second, "{sent:x?}, then {next:x?}");
    assert_eq!(WaitingClient::start(&ends, &silent).kill(), b"", "the last of three was sent");
    drop(silent);
    let server = ends.serve_at(&address, &[]);
    let fact = ends.connect(&server);
    assert_eq!(fact["peer_certificate"], "cached", "{fact}");
    assert_ne!(fact["own_certificate"], "cached", "{fact}");
    assert_eq!(ways(&ends.connect(&server)), CACHED);
}

/// Of three tickets the first client sends two, since it may be alone, and the second the remaining one.
#[test]
fn clients_that_run_at_a_time_share_the_tickets() {
    let (ends, address) = met();
    let silent = TcpListener::bind(&address).unwrap();
    let clients = [(); 3].map(|()| WaitingClient::start(&ends, &silent));
    let lens = clients.each_ref().map(|client| client.tickets.len());
    assert_eq!(lens, [16, 16, 0]);
    let all: Vec<_> = clients.into_iter().flat_map(|client| client.kill()).collect();
    let mut distinct: Vec<_> = all.chunks(8).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{all:x?}");
}

/// Each client adds what it learned to that of the others, so each has a ticket the next time.
#[test]
fn clients_that_run_at_a_time_leave_tickets_for_all_to_the_next() {
    let ends = Ends::new();
    let server = ends.serve();
    let between = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = [(); 4].map(|()| WaitingClient::start(&ends, &between));
    assert!(clients.iter().all(|client| client.tickets.is_empty()));
    clients.into_iter().for_each(|client| client.go_on(&server));
    let clients = [(); 8].map(|()| WaitingClient::start(&ends, &between));
    assert!(clients.iter().all(|client| client.tickets.len() == 16));
    clients.into_iter().for_each(|client| client.go_on(&server));
    let told = server.end();
    let came = told.iter().filter(|fact| fact["event"] == "connection");
    let cached = came.filter(|fact| fact["peer_certificate"] == "cached").count();
    // The server forgets the oldest if newer ones arrive first.
    assert!(cached >= 4, "{told:?}");
}

/// Clients without a ticket send their certificates whole. Limits per address apply as ever.
#[test]
fn a_thousand_connections_of_one_client_at_a_time_are_served() {
    let (ends, address) = met();
    let server = ends.serve_at(&address, &["--quiet"]);
    let load =
        ["--mode", "full", "--count", "1000", "--parallel", "1000", "--json", "-", "--quiet"];
    let output = ends.run(&address, &load);
    let load = DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap());
    let (completed, failed) =
        (load["completed"].as_u64().unwrap(), load["failed"].as_u64().unwrap());
    assert!(completed >= 500 && completed + failed == 1000, "{load}");
    // The two ends may disagree on the newest of a thousand; after the next connection they agree.
    ends.connect(&server);
    assert_eq!(ways(&ends.connect(&server)), CACHED);
    let told = server.end();
    let last = |event| told.iter().rfind(|fact| fact["event"] == event);
    let refused =
        last("limits").map_or(0, |it| it["refused_handshakes_of_address"].as_u64().unwrap());
    assert_eq!(refused, failed, "{load}");
    let sums = last("cached_certificates").unwrap();
    assert_eq!((&sums["entries"], &sums["wrong_hash"]), (&1.into(), &0.into()), "{sums}");
    let count = |name: &str| sums[name].as_u64().unwrap();
    let missed = ["missed_nothing_cached", "missed_unknown_ticket"].map(count);
    let came = count("received_cached") + missed.iter().sum::<u64>();
    assert_eq!(came, completed + 2, "{sums}");
}

/// The server's file is that of its last save: clients learned since are unknown once.
#[test]
fn a_server_that_is_killed_has_what_it_saved_last() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    let address = server.address.clone();
    server.end();
    let server = ends.serve_at(&address, &[]);
    assert_eq!(ways(&ends.connect(&server)), CACHED);
    // Dropping the server kills it.
    drop(server);
    let server = ends.serve_at(&address, &[]);
    assert_eq!(found(&server), "kept");
    // The newest ticket is more recent than that save; the server's own chain is in the certificate's file.
    assert_eq!(ends.connect(&server)["peer_certificate"], "cached");
    assert_eq!(ways(&ends.connect(&server)), CACHED);
}

/// Runs an end that can't extend files any more, which looks like a full disk.
fn without_room(arguments: &[&str]) -> Command {
    let line = "ulimit -f 0; trap '' XFSZ; exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", line, env!("CARGO_BIN_EXE_tessera")]).args(arguments);
    command
}

#[test]
fn a_full_disk_is_named_and_what_was_kept_is_kept() {
    let (ends, address) = met();
    let told_of_room = |output: &Output, end: &str, code: i32| {
        let told = stderr(output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        let new = ends.file(end).with_extension("new");
        let advice = "free some space there, or name another directory with --cache-certificates";
        assert!(told.contains(new.to_str().unwrap()) && told.contains(advice), "{told}");
        assert!(!new.exists());
    };
    let kept = ["client", "server"].map(|end| fs::read(ends.file(end)).unwrap());
    // Before it connects: tickets must leave the file first.
    let options = ends.options();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    let client = &mut without_room(&[&["connect", &address], &options[..]].concat());
    told_of_room(&run(client, ""), "client", 2);

    // A server notices when it saves.
    let [root, own, key] = ["root.pem", "server.pem", "server.key"].map(|it| ends.pki.path(it));
    let directory = ends.directory("server");
    let mut options = vec!["serve", "--listen", &address, "--certificate", &own, "--key", &key];
    options.extend(["--ca", &root, "--require-client-certificate"]);
    options.extend(["--cache-certificates", &directory, "--json", "-"]);
    let mut server =
        without_room(&options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut listening = String::new();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    stdout.read_line(&mut listening).unwrap();
    assert_eq!(ways(&facts(&ends.run(&address, &["--json", "-"]))), CACHED);
    signal(&server, "-TERM");
    let _ = stdout.read_to_string(&mut listening);
    told_of_room(&server.wait_with_output().unwrap(), "server", 1);
    let now = ["client", "server"].map(|end| fs::read(ends.file(end)).unwrap());
    assert!(now[1] == kept[1], "the server's file");
    assert!(now[0] != kept[0], "the client's has newer tickets");
    let server = ends.serve_at(&address, &[]);
    assert_eq!(found(&server), "kept");
    assert_eq!(ends.connect(&server)["peer_certificate"], "cached");
}

#[test]
fn a_pipe_in_place_of_a_clients_file_is_refused_and_not_waited_for() {
    let (ends, address) = met();
    let file = ends.file("client");
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let output = ends.run(&address, &[]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("this is not a file; remove it") && told.contains("servers"), "{told}");
    fs::remove_file(&file).unwrap();
    let server = ends.serve_at(&address, &[]);
    let fact = ends.connect(&server);
    assert!(none_is_cached(&fact), "{fact}");
}
