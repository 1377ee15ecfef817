//! Sessions in files: each is returned once, and other users can't read them.
//!
//! A separate program, because it captures the warnings of the whole process.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod wrapped;

use std::collections::HashSet;
use std::fmt::Debug;
use std::fs;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use common::{SERVER_NAME, connect, destination, ends, finish, forward_secret};
use tessera::resume::{ClientSession, PskKind};
use tessera_tokio::{
    FileSessionStore, MemorySessionStore, SessionStore, StreamUse, TrackedStream, Tracker,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A directory for one test, removed after it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("tessera-tokio-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// Returns all files in it.
    fn files(&self) -> Vec<PathBuf> {
        files_in(&self.0)
    }
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(servers) = fs::read_dir(directory) else { return Vec::new() };
    let files = servers.flat_map(|server| fs::read_dir(server.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Sessions of full handshakes. A client takes no more than 32 tickets in a row.
async fn sessions(ends: common::Ends, count: usize) -> Vec<ClientSession> {
    let store = Arc::new(MemorySessionStore::new(30, 1));
    let ends = ends.with_tickets(30);
    let connector = ends.connector().with_sessions(store.clone());
    let mut sessions = Vec::new();
    while sessions.len() < count {
        let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
        finish(&mut client, &mut server).await;
        sessions.extend(std::iter::from_fn(|| store.pop(SERVER_NAME)));
    }
    sessions.truncate(count);
    sessions
}

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Captures warnings for the tests from now on.
fn keep_warnings() {
    // A second call fails: another test already did it.
    let _ = tracing::subscriber::set_global_default(Warnings);
}

struct Warnings;

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == Level::WARN
    }
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message);
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            WARNINGS.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

fn pop_all(path: &Path) -> Vec<Vec<u8>> {
    let store = FileSessionStore::open(path).unwrap();
    std::iter::from_fn(|| store.pop(SERVER_NAME)).map(|session| session.ticket).collect()
}

#[tokio::test]
async fn a_session_from_a_file_store_is_resumed_once() {
    let directory = Directory::new("resumed");
    let ends = forward_secret();
    let store = Arc::new(FileSessionStore::open(&directory.0).unwrap());
    let connector = ends.connector().with_sessions(store);
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    assert_eq!(directory.files().len(), 2, "both tickets were stored before the shutdown ended");
    let (client, _server) = connect(&connector, &ends.acceptor()).await;
    assert_eq!(client.facts().psk, Some(PskKind::ForwardSecret));
    assert_eq!(directory.files().len(), 1);
}

/// A store that takes as long as the test sets.
struct SlowStore {
    sessions: MemorySessionStore,
    gate: Mutex<Receiver<()>>,
}

impl SessionStore for SlowStore {
    fn put(&self, server_name: &str, session: ClientSession) {
        self.gate.lock().unwrap().recv().unwrap();
        self.sessions.put(server_name, session);
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        self.sessions.pop(server_name)
    }
}

#[tokio::test]
async fn sessions_of_a_server_that_is_gone_are_stored_before_the_shutdown_ends() {
    let (open, gate) = channel();
    let store = SlowStore { sessions: MemorySessionStore::default(), gate: Mutex::new(gate) };
    let store = Arc::new(store);
    let ends = ends().with_tickets(1);
    let connector = ends.connector().with_sessions(store.clone());
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    server.shutdown().await.unwrap();
    client.read_to_end(&mut Vec::new()).await.unwrap();
    drop(server);
    let mut ending = pin!(client.shutdown());
    let waits = poll_fn(|cx| Poll::Ready(ending.as_mut().poll(cx).is_pending())).await;
    open.send(()).unwrap();
    assert!(waits, "a process that ends now leaves no session");
    assert!(ending.await.is_err(), "the peer does not read the goodbye");
    assert!(store.pop(SERVER_NAME).is_some());
}

/// Looks at the disk before the first byte is sent.
struct DiskProbe {
    directory: PathBuf,
    /// The files at that time.
    files: Option<Vec<PathBuf>>,
}

impl<S> Tracker<S> for DiskProbe {
    fn before(&mut self, _: &mut S, what: StreamUse) -> std::io::Result<()> {
        if what == StreamUse::Write {
            self.files.get_or_insert_with(|| files_in(&self.directory));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_ticket_leaves_the_disk_before_it_is_sent() {
    let directory = Directory::new("leaves");
    let ends = ends().with_tickets(1);
    let store = Arc::new(FileSessionStore::open(&directory.0).unwrap());
    let connector = ends.connector().with_sessions(store);
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    assert_eq!(directory.files().len(), 1);
    let (near, far) = duplex(64 * 1024);
    let tracker = DiskProbe { directory: directory.0.clone(), files: None };
    let near = TrackedStream { stream: near, tracker };
    let acceptor = ends.acceptor();
    let (client, _server) =
        tokio::try_join!(connector.connect(destination(), near), acceptor.accept(far)).unwrap();
    assert_eq!(client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(client.get_ref().tracker.files, Some(Vec::new()));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_a_file_session_store() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new("modes");
    let store = FileSessionStore::open(&directory.0).unwrap();
    for session in sessions(ends(), 2).await {
        store.put(SERVER_NAME, session);
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = directory.files();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| mode(file) == 0o600));
    assert_eq!(mode(files[0].parent().unwrap()), 0o700);
    assert_eq!(mode(&directory.0), 0o700);
}

#[tokio::test]
async fn sessions_that_can_not_be_used_are_removed_from_the_store() {
    keep_warnings();
    let directory = Directory::new("corrupt");
    let store = FileSessionStore::open(&directory.0).unwrap();
    let mut sessions = sessions(ends(), 4).await.into_iter();
    let good = sessions.next().unwrap();
    let ticket = good.ticket.clone();
    store.put(SERVER_NAME, good);
    // Newer ones, in the order in which they are tried: truncated, expired, of another kind.
    for (newer, session) in sessions.enumerate() {
        let at = session.state.issued_at + 10 * (newer as u64 + 1);
        let session = ClientSession { state: later(session.state, at), ..session };
        store.put(SERVER_NAME, session);
    }
    let mut files = directory.files();
    files.sort();
    let whole = fs::read(&files[1]).unwrap();
    fs::write(&files[1], &whole[..whole.len() - 1]).unwrap();
    fs::write(&files[2], b"something else").unwrap();
    fs::write(&files[3], b"").unwrap();
    // An entry that isn't a file stays, and doesn't block others.
    let no_file = files[0].with_file_name("ffffffffffffffff.session");
    fs::create_dir(&no_file).unwrap();
    assert_eq!(store.pop(SERVER_NAME).unwrap().ticket, ticket);
    let warnings = WARNINGS.lock().unwrap().clone();
    for file in [&no_file, &files[1], &files[2], &files[3]] {
        let file = file.to_str().unwrap();
        assert_eq!(warnings.iter().filter(|it| it.contains(file)).count(), 1, "{warnings:?}");
    }
    assert_eq!(directory.files(), [no_file]);
    assert!(store.pop(SERVER_NAME).is_none());
}

#[tokio::test]
async fn expired_sessions_are_not_given_out_by_a_store() {
    let directory = Directory::new("expired");
    let store = FileSessionStore::open(&directory.0).unwrap();
    let memory = MemorySessionStore::default();
    for session in sessions(ends(), 2).await {
        let long_ago = session.state.issued_at - 1000 * u64::from(session.state.lifetime) - 1;
        let session = || {
            let copy = ClientSession::import(&session.export()).unwrap();
            ClientSession { state: later(copy.state, long_ago), ..copy }
        };
        store.put(SERVER_NAME, session());
        memory.put(SERVER_NAME, session());
    }
    assert!(store.pop(SERVER_NAME).is_none() && memory.pop(SERVER_NAME).is_none());
    assert!(directory.files().is_empty());
}

fn later(state: tessera::resume::SessionState, at: u64) -> tessera::resume::SessionState {
    tessera::resume::SessionState { issued_at: at, ..state }
}

#[tokio::test]
async fn the_oldest_sessions_in_a_store_make_room() {
    let directory = Directory::new("bounded");
    let store = FileSessionStore::open(&directory.0).unwrap().with_limit(3);
    let mut newest = Vec::new();
    for (age, session) in sessions(ends(), 5).await.into_iter().enumerate() {
        let at = session.state.issued_at + 10 * age as u64;
        newest = session.ticket.clone();
        store.put(SERVER_NAME, ClientSession { state: later(session.state, at), ..session });
    }
    assert_eq!(directory.files().len(), 3);
    assert_eq!(store.pop(SERVER_NAME).unwrap().ticket, newest, "the newest comes first");
}

#[tokio::test]
async fn no_server_name_leads_out_of_a_session_stores_directory() {
    let directory = Directory::new("names");
    let store = FileSessionStore::open(&directory.0).unwrap();
    let names = ["..", ".", "", "../../x", "a/b", "::1", "ü.example", "a%2Fb", "nul.", "a\0b"];
    for (name, session) in names.iter().zip(sessions(ends(), names.len()).await) {
        store.put(name, session);
    }
    assert_eq!(directory.files().len(), names.len(), "each has a directory of its own");
    for name in names {
        assert!(store.pop(name).is_some(), "{name:?}");
        assert!(store.pop(name).is_none(), "{name:?}");
    }
    // Names are case-insensitive.
    store.put("Server.Example", sessions(ends(), 1).await.remove(0));
    assert!(store.pop(SERVER_NAME).is_some());
    // A name that can't name a directory has no sessions, and breaks nothing.
    store.put(&"x".repeat(300), sessions(ends(), 1).await.remove(0));
    assert!(store.pop(&"x".repeat(300)).is_none());
}

#[tokio::test]
async fn each_of_64_threads_gets_a_session_of_its_own() {
    let directory = Directory::new("threads");
    let store = FileSessionStore::open(&directory.0).unwrap().with_limit(100);
    let sessions = sessions(ends(), 100).await;
    let all: HashSet<_> = sessions.iter().map(|session| session.ticket.clone()).collect();
    assert_eq!(all.len(), 100);
    for session in sessions {
        store.put(SERVER_NAME, session);
    }
    let threads: Vec<_> = (0..64)
        .map(|_| {
            let path = directory.0.clone();
            std::thread::spawn(move || pop_all(&path))
        })
        .collect();
    let popped: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(popped.len(), 100, "none twice, none lost");
    assert!(popped.into_iter().collect::<HashSet<_>>() == all);
}

const CHILD: &str = "TESSERA_TEST_POPS_FROM";

#[tokio::test]
async fn each_of_64_processes_gets_a_session_of_its_own() {
    let directory = Directory::new("processes");
    let store = FileSessionStore::open(&directory.0).unwrap().with_limit(200);
    let sessions = sessions(ends(), 200).await;
    let all: HashSet<_> = sessions.iter().map(|session| hex(&session.ticket)).collect();
    for session in sessions {
        store.put(SERVER_NAME, session);
    }
    let children: Vec<_> = (0..64)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture", "a_process_that_pops"])
                .env(CHILD, &directory.0)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut popped = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let output = String::from_utf8(output.stdout).unwrap();
        popped.extend(
            output.lines().filter_map(|line| line.strip_prefix("popped ")).map(str::to_owned),
        );
    }
    assert_eq!(popped.len(), 200, "none twice, none lost");
    assert!(popped.into_iter().collect::<HashSet<_>>() == all);
}

/// Body of the processes that the test above starts; does nothing otherwise.
#[test]
fn a_process_that_pops() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    println!();
    for ticket in pop_all(Path::new(&path)) {
        println!("popped {}", hex(&ticket));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
