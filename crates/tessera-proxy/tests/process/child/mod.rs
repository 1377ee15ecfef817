//! Parts of a test that need a separate process.

use std::process::{Command, Output, Stdio};

/// Runs an ignored test of this program, by its full name, as a separate process with these environment variables. It
/// must succeed.
pub fn run(test: &str, environment: &[(&str, &str)]) -> Output {
    let child = command(test, environment).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    assert!(said.contains("1 passed"), "no test has this name: {said}");
    child
}

/// The same, for the caller to start.
pub fn command(test: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("NOTIFY_SOCKET").envs(environment.iter().copied());
    command
}
