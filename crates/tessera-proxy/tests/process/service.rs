//! Notifications to a supervisor, and a supervisor that doesn't read.

use std::convert::Infallible;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tessera_proxy::service::Supervisor;

use crate::child;

fn socket(name: &str) -> (UnixDatagram, PathBuf) {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (socket, path)
}

fn next(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let count = socket.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

#[test]
fn a_supervisor_is_notified_of_its_services_states() {
    let (socket, path) = socket("life");
    child::run("service::child_lives", &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert_eq!(next(&socket), "READY=1\nSTATUS=3 tunnels\n");
    let reloading = next(&socket);
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect(&reloading);
    assert!(time.trim_end().parse::<u64>().unwrap() > 0);
    // A status can't inject another message.
    assert_eq!(next(&socket), "READY=1\nSTATUS=4 tunnels WATCHDOG=trigger\n");
    assert_eq!(
        next(&socket),
        "STOPPING=1\nSTATUS=2 connections are left\nEXTEND_TIMEOUT_USEC=105000000\n"
    );
    assert_eq!(next(&socket), "STATUS=1 connection is left\n");
    fs::remove_file(path).unwrap();
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_lives() {
    let supervisor = Supervisor::from_env().unwrap();
    supervisor.ready("3 tunnels");
    supervisor.reloading();
    supervisor.ready("4 tunnels\nWATCHDOG=trigger");
    supervisor.stopping("2 connections are left", Duration::from_secs(90));
    supervisor.status("1 connection is left");
    supervisor.finish();
}

#[test]
fn a_watchdog_is_notified_that_the_process_lives() {
    let (socket, path) = socket("watchdog");
    let path = path.to_str().unwrap();
    let environment = [("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "2000")];
    let mut command = child::command("service::child_keeps_alive", &environment);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    for _ in 0..5 {
        assert_eq!(next(&socket), "WATCHDOG=1\n");
    }
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    fs::remove_file(path).unwrap();
}

#[test]
#[ignore = "runs in a process of its own, until its input ends"]
fn child_keeps_alive() -> Infallible {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let supervisor = Supervisor::from_env().unwrap();
    runtime.block_on(supervisor.keep_alive())
}

#[test]
fn a_supervisor_that_does_not_listen_delays_no_one() {
    let (_socket, path) = socket("deaf");
    // The socket isn't read: its queue is full after a few messages, and the child ends nevertheless.
    child::run("service::child_talks", &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_supervisor_that_listens_late_gets_each_step_and_the_newest_status() {
    let (socket, path) = socket("late");
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let mut command = child::command("service::child_talks", &environment);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    assert!(said.by_ref().lines().any(|line| line.unwrap().contains("it has sent everything")));
    let mut heard = Vec::new();
    while heard.last().is_none_or(|last: &String| !last.starts_with("STATUS=the last")) {
        heard.push(next(&socket));
    }
    // It waits for the end of its input.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let end = [
        "READY=1\nSTATUS=a\n",
        "STOPPING=1\nSTATUS=b\nEXTEND_TIMEOUT_USEC=15000000\n",
        "STATUS=the last\n",
    ];
    assert_eq!(heard[heard.len() - 3..], end);
    assert!(heard.len() < 10_000, "{}", heard.len());
    fs::remove_file(path).unwrap();
}

#[test]
fn no_supervisor_and_a_wrong_one_are_no_obstacle() {
    child::run("service::child_talks", &[]);
    child::run("service::child_talks", &[("NOTIFY_SOCKET", "/nonexistent/socket")]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_talks() {
    let supervisor = Supervisor::from_env().unwrap();
    for number in 0..100_000 {
        supervisor.status(&number.to_string());
    }
    supervisor.ready("a");
    supervisor.stopping("b", Duration::ZERO);
    supervisor.status("the last");
    println!("it has sent everything");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    supervisor.finish();
}
