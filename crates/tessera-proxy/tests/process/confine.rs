//! What a confined process can't do. Skipped, with a message, on kernels without Landlock.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use tessera_proxy::confine::{Confinement, Enforcement, TcpPorts};

use crate::child;

/// A test's own directory, with `read/file`, `write/` and `other/file`.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("confine-{name}"));
    let _ = fs::remove_dir_all(&path);
    for directory in ["read", "write", "other"] {
        fs::create_dir_all(path.join(directory)).unwrap();
        fs::write(path.join(directory).join("file"), "content").unwrap();
    }
    path
}

fn confinement(directory: &Path) -> Confinement {
    Confinement {
        read: vec![directory.join("read")],
        write: vec![directory.join("write")],
        ..Confinement::default()
    }
}

/// Whether this kernel confines; if not, prints why the test is skipped.
fn has_landlock(enforced: &Enforcement) -> bool {
    println!("{enforced}");
    enforced.files
}

fn is_denied<T>(result: std::io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

#[test]
fn a_confined_process_reaches_its_files_alone() {
    child::run("confine::child_is_confined", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_is_confined() {
    let directory = directory("files");
    let other = directory.join("other/file");
    let open = File::open(&other).unwrap();
    // The test runs on its own thread; the first thread waits for it.
    let enforced = confinement(&directory).enforce().unwrap();
    if !has_landlock(&enforced) {
        assert!(File::open(&other).is_ok());
        return;
    }
    assert!(is_denied(File::open(&other)));
    assert!(is_denied(File::open("/etc/passwd")));
    assert!(is_denied(fs::read_dir("/")));
    assert!(is_denied(fs::write(directory.join("new"), "")));
    // Open files stay open, and listed files can be opened.
    assert_eq!(open.metadata().unwrap().len(), 7);
    assert_eq!(fs::read(directory.join("read/file")).unwrap(), b"content");
    assert!(is_denied(fs::write(directory.join("read/file"), "")));
    let state = directory.join("write/state");
    File::create(&state).unwrap().write_all(b"sealed").unwrap();
    fs::rename(&state, directory.join("write/file")).unwrap();
    fs::remove_file(directory.join("write/file")).unwrap();
    fs::create_dir(directory.join("write/directory")).unwrap();
    std::os::unix::net::UnixListener::bind(directory.join("write/socket")).unwrap();
    // Threads that it starts are confined too, and no program can be executed.
    assert!(thread::spawn(move || is_denied(File::open(other))).join().unwrap());
    assert!(Command::new("/bin/true").status().is_err());
    // The confinement lists no ports.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert!(!enforced.tcp);
}

#[test]
fn a_confined_process_uses_its_ports_alone() {
    child::run("confine::child_has_ports", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_has_ports() {
    let allowed = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let [allowed, other] = [&allowed, &other].map(|listener| listener.local_addr().unwrap());
    let ports = TcpPorts { connect: vec![allowed.port()], listen: Vec::new() };
    let confinement = Confinement { tcp: Some(ports), ..Confinement::default() };
    let enforced = confinement.enforce().unwrap();
    if !has_landlock(&enforced) || !enforced.tcp {
        assert!(enforced.to_string().contains("not"), "{enforced}");
        return;
    }
    TcpStream::connect(allowed).unwrap();
    assert!(is_denied(TcpStream::connect(other)));
    assert!(is_denied(TcpListener::bind("127.0.0.1:0")));
}

#[test]
fn names_are_looked_up_in_a_confined_process() {
    child::run("confine::child_looks_up", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_looks_up() {
    use std::net::ToSocketAddrs;

    let confinement = Confinement { names: true, ..Confinement::default() };
    let enforced = confinement.enforce().unwrap();
    has_landlock(&enforced);
    // From /etc/hosts, without a name server.
    assert!(("localhost", 80).to_socket_addrs().unwrap().all(|address| address.ip().is_loopback()));
}

#[test]
fn threads_started_before_confinement_are_reported_as_outside() {
    child::run("confine::child_has_threads", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_has_threads() {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ = ended.recv();
        File::open("/etc/passwd").is_ok()
    });
    let enforced = Confinement::default().enforce().unwrap();
    drop(end);
    let is_outside = thread.join().unwrap();
    has_landlock(&enforced);
    // This one, and the one waiting for the test.
    assert_eq!(enforced.threads_outside > 0, is_outside, "{enforced}");
    assert_eq!(
        enforced.to_string().contains("started earlier"),
        enforced.files && is_outside,
        "{enforced}"
    );
}

#[test]
fn a_path_that_is_not_there_is_an_error_and_nothing_is_confined() {
    child::run("confine::child_lacks_a_path", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_lacks_a_path() {
    let missing = PathBuf::from("/nonexistent/certificates");
    let confinement = Confinement { read: vec![missing], ..Confinement::default() };
    let error = confinement.enforce().unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().starts_with("/nonexistent/certificates: "), "{error}");
    File::open("/etc/passwd").unwrap();
}
