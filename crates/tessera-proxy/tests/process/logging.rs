//! The log of a whole process, on its standard error.

use std::io::Read;
use std::process::Stdio;

use tessera_proxy::logging::{self, LogFormat, LogOptions, TRUSTED, tracing};

use crate::child;

#[test]
fn a_process_writes_its_events_and_those_of_its_libraries() {
    let child = child::run("logging::child_logs", &[]);
    let said = String::from_utf8(child.stderr).unwrap();
    let lines: Vec<_> = said.lines().map(|line| line.split_once(' ').unwrap().1.trim()).collect();
    let expected = [
        "INFO started tunnels=3",
        "WARN a broken \\npipe",
        "ERROR the log: this process has one already",
        "INFO of another thread",
    ];
    assert_eq!(lines, expected);
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_logs() {
    let options = LogOptions::new(LogFormat::Text);
    let log = logging::init(options).unwrap();
    tracing::info!(tunnels = 3, "started");
    tracing::warn!(target: "some_library", "a broken \npipe");
    tracing::debug!(target: "some_library", "not at this level");
    let error = logging::init(options).unwrap_err();
    tracing::error!("{error}");
    std::thread::spawn(|| tracing::info!("of another thread")).join().unwrap();
    log.finish();
}

#[test]
fn a_process_with_an_unread_standard_error_still_ends() {
    let mut command = child::command("logging::child_talks", &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The pipe is full long before.
    assert!(child.wait().unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("{\"timestamp\":\""), "{said}");
    assert!(said.len() < 1 << 20, "{}", said.len());
}

#[test]
#[ignore = "runs in a process of its own"]
fn child_talks() {
    let log = logging::init(LogOptions::new(LogFormat::Json)).unwrap();
    for number in 0..50_000 {
        tracing::info!(target: TRUSTED, number, "a line");
    }
    log.finish();
}
