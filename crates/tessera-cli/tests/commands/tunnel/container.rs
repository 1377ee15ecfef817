//! With `/run` on disk, as in most containers, a state's key is in `/dev/shm`, or `check` reports that it can't be.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::program::{run, stderr, tessera};
use crate::running::{RunningTunnel, Stage, backend};

/// Runs `tessera tunnel` with `/run` on disk, after this script has prepared the rest.
fn in_container(script: &str, arguments: [&str; 2]) -> Command {
    let program = tessera();
    let mut command = Command::new("unshare");
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.arg("--map-root-user");
    }
    let script = format!("mount --bind /proc /run && {script} && exec \"$@\"");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(program.get_program());
    command.arg("tunnel").args(arguments);
    command.env_remove("RUNTIME_DIRECTORY").env_remove("XDG_RUNTIME_DIR");
    command
}

/// Returns what `check` and `run` write about a file that they reject.
#[track_caller]
fn refused(script: &str, file: &str) -> String {
    let [checked, ran] = ["check", "run"].map(|command| {
        let output = run(&mut in_container(script, [command, file]), "");
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        let written = stderr(&output);
        let error = written.lines().find(|line| line.starts_with("error: "));
        error.unwrap_or_else(|| panic!("{command}: {written}")).to_owned()
    });
    assert_eq!(checked, ran);
    checked
}

const SHARED_MEMORY: &str = "mount -t tmpfs -o mode=1777 none /dev/shm";

#[test]
fn a_key_that_would_lie_on_a_disk_is_refused_by_check_as_by_run() {
    let stage = Stage::new();
    let state = format!("state = \"{}\"", stage.files.path("state"));
    let file = stage.write("a", &[&stage.server("a", backend(""), &state)]);
    let error = refused("mount --bind /proc /dev/shm", &file);
    assert!(error.contains("/run/tessera: ") && error.contains("on a disk"), "{error}");
    assert!(error.contains("$RUNTIME_DIRECTORY") && error.contains("state-key"), "{error}");
}

#[test]
fn a_key_goes_to_shared_memory_where_only_its_user_can_enter() {
    let stage = Stage::new();
    let state = stage.files.path("state");
    let file =
        stage.write("a", &[&stage.server("a", backend(""), &format!("state = \"{state}\""))]);
    let output = run(&mut in_container(SHARED_MEMORY, ["check", &file]), "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!fs::exists(&state).unwrap(), "it makes nothing");
    for (what, error) in [
        ("mkdir -m 755 /dev/shm/tessera-0", "chmod go= /dev/shm/tessera-0"),
        ("mkdir -m 700 /dev/shm/a && ln -s a /dev/shm/tessera-0", "not a directory"),
        ("touch /dev/shm/tessera-0", "not a directory"),
    ] {
        let written = refused(&format!("{SHARED_MEMORY} && {what}"), &file);
        assert!(written.contains("/dev/shm/tessera-0") && written.contains(error), "{written}");
    }
    // Any user may rename files there.
    let written = refused("mount -t tmpfs -o mode=777 none /dev/shm", &file);
    assert!(written.contains("/run/tessera"), "{written}");
    // The second one is another container: its shared memory is new, and the machine's boot the same.
    for _ in 0..2 {
        let running = RunningTunnel::spawn(&mut in_container(SHARED_MEMORY, ["run", &file]));
        running.says("listening");
        assert_eq!(running.end().code(), Some(0));
    }
    let note = fs::read_to_string(format!("{state}/key-was")).unwrap();
    assert!(note.contains("key /dev/shm/tessera-0/state-"), "{note}");
}
