//! Runs a test again as a separate process, with resources from its parent.

use std::env;
use std::process::Command;

/// Whether this is the child.
pub fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// The test of this full name as a separate process; `script` is run by the shell, and ends with `exec "$@"`.
pub fn child(test: &str, script: &str) -> Command {
    let mut command = Command::new("sh");
    let program = env::current_exe().unwrap();
    command.args(["-c", script, "sh"]).arg(program).args(["--exact", test, "--nocapture"]);
    command.env(CHILD, "1");
    command
}

const CHILD: &str = "TESSERA_PROXY_TEST_CHILD";
