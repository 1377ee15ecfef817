//! What connections that have ended leave in the memory of `tessera serve` and `tessera connect`: nothing.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

/// Attacks the program of the same build, which nothing optimizes: it copies more than the packaged one, which
/// `make evidence-memory` attacks.
fn attack(arguments: &[&str]) {
    let attacker = Path::new(env!("CARGO_BIN_EXE_tessera-memory"));
    let program = attacker.with_file_name("tessera");
    assert!(program.exists(), "{}: build it: cargo build --workspace", program.display());
    let mut command = Command::new(attacker);
    let output = command.arg("--program").arg(program).args(arguments).output().expect("starts");
    let [told, problems] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success(), "{}\n{told}{problems}", output.status);
}

#[test]
fn nothing_that_opens_a_connection_is_in_memory_after_it() {
    attack(&["--connections", "1,30"]);
}

#[test]
fn what_is_kept_too_long_is_found() {
    attack(&["--slips"]);
}
