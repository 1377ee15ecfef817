//! A test that runs again as a process of its own, with what its parent gives it.

use std::env;
use std::process::Command;

/// Whether this is the child.
pub fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// The test of this whole name as a process of its own; `script` is the shell's, and ends with `exec "$@"`.
pub fn child(test: &str, script: &str) -> Command {
    let mut command = Command::new("sh");
    let program = env::current_exe().unwrap();
    command.args(["-c", script, "sh"]).arg(program).args(["--exact", test, "--nocapture"]);
    command.env(CHILD, "1");
    command
}

const CHILD: &str = "TESSERA_PROXY_TEST_CHILD";
