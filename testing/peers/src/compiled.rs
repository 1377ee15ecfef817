//! Peers that tests compile, with a library of Debian's that has no programs.

use std::process::Command;

use crate::{Directory, Network, PATIENCE, Process};

/// Compiles this C source with a library, and starts the program. It prints `begins` to standard error as soon as it
/// runs.
///
/// # Panics
/// If there is no compiler, or no library to compile with; the error names its package.
#[track_caller]
pub(crate) fn start(
    name: &'static str,
    source: &str,
    library: &[&str],
    package: &str,
    arguments: &[&str],
) -> Process {
    let directory = Directory::new();
    let (source, program) = (directory.write("peer.c", source), directory.path("peer"));
    let compiler = Command::new("cc").args(["-o", &program, &source]).args(library).output();
    let compiled = compiler.expect("Rust needs a C compiler to link, and so does this test");
    assert!(
        compiled.status.success(),
        "run scripts/setup-tests, or install Debian's package {package}: {}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let process = Process::start_compiled(name, &program, Network::Loopback, arguments);
    // The directory goes when it runs.
    process.wait_for("to begin", PATIENCE, || process.stderr().contains("begins").then_some(()));
    process
}
