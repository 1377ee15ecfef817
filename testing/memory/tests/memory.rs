//! Ended connections leave nothing in the memory of `tessera serve` and `tessera connect`.
#![cfg(target_os = "linux")]

use std::process::Command;

/// Attacks the release build, which is built if necessary.
fn attack(arguments: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/memory");
    let output = Command::new(script).args(arguments).output().expect("the script");
    let [told, problems] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success(), "{}\n{told}{problems}", output.status);
}

#[test]
fn nothing_that_opens_a_connection_is_in_memory_after_it() {
    attack(&["--connections", "1,30"]);
}

#[test]
fn a_secret_that_is_kept_too_long_is_found() {
    attack(&["--slips"]);
}
