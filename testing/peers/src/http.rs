//! HTTP clients: curl, and h2load of nghttp2.

use crate::{Network, PATIENCE, Process};

/// Runs `curl --silent --show-error` with these arguments, which must succeed; returns its standard output.
#[track_caller]
pub fn curl(arguments: &[&str]) -> String {
    run("curl", &[&["--silent", "--show-error"], arguments].concat())
}

/// Runs `h2load` with these arguments, which must succeed; returns its report.
#[track_caller]
pub fn h2load(arguments: &[&str]) -> String {
    run("h2load", arguments)
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) -> String {
    let mut process = Process::start(program, Network::Loopback, arguments);
    // Many requests on a loaded machine.
    let succeeded = process.end_input().ends_within(3 * PATIENCE);
    assert!(succeeded, "{program} {} failed: {}", arguments.join(" "), process.output());
    process.stdout()
}
