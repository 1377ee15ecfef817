//! Parts of a test that need a process of their own.

use std::process::{Command, Output, Stdio};

/// Runs an ignored test of this program, by its whole name, as a process of its own, with these variables of its environment. It must succeed.
pub fn run(test: &str, environment: &[(&str, &str)]) -> Output {
    let child = command(test, environment).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("1 passed"), "no test has this name: {said}");
    child
}

/// The same, to be started by whoever asks.
pub fn command(test: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("NOTIFY_SOCKET").envs(environment.iter().copied());
    command
}
