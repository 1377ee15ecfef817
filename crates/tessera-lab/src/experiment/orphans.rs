//! Ends child processes through a shell if this process is killed.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::unistd::Pid;

/// A shell that waits for the end of this process, by whatever cause, and then kills processes and removes a directory.
/// It does nothing if it is dropped before.
pub(crate) struct Orphans(Child);

impl Orphans {
    /// Starts it; when this returns, no signal but KILL ends the shell.
    ///
    /// # Errors
    /// If there is no `sh`.
    pub(crate) fn watch(processes: &[Pid], directory: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]).arg(directory);
        command.args(processes.iter().map(Pid::to_string));
        // Its standard input ends when no process can write there any more.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut orphans = Self(command.spawn()?);
        let said = orphans.0.stdout.take().map(|mut stdout| stdout.read_exact(&mut [0]));
        said.unwrap_or_else(|| {
            Err(io::Error::other("the watching sh has no standard output (a bug of the lab)"))
        })?;
        Ok(orphans)
    }
}

/// Ctrl-C, the end of a terminal and a service manager's signal go to all processes of a group; this one survives them.
/// A process that is being killed may still create a file.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM
directory=$1
shift
echo
read -r _
kill -KILL "$@"
for try in 1 2 3 4 5; do
    rm -rf -- "$directory" && break
    sleep 0.2
done"#;

impl Drop for Orphans {
    fn drop(&mut self) {
        // Killed before its standard input ends, so that it does nothing; it has no children.
        let _: io::Result<()> = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;

    use nix::sys::signal::{Signal, kill};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("1000").spawn().unwrap()
    }

    fn pid(child: &Child) -> Pid {
        Pid::from_raw(child.id().try_into().unwrap())
    }

    #[test]
    fn orphans_end_with_their_files_and_others_stay() {
        let directory =
            std::env::temp_dir().join(format!("tessera-orphans-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let mut sleepers = [sleeper(), sleeper()];
        let pids = [pid(&sleepers[0]), pid(&sleepers[1])];
        drop(Orphans::watch(&pids, &directory).unwrap());
        assert!(directory.exists());
        assert!(sleepers[0].try_wait().unwrap().is_none(), "it ended with the watch");

        let mut orphans = Orphans::watch(&pids, &directory).unwrap();
        // A group's signals, which end this process, reach the shell too.
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
            kill(pid(&orphans.0), signal).unwrap();
        }
        drop(orphans.0.stdin.take());
        orphans.0.wait().unwrap();
        for sleeper in &mut sleepers {
            assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
        }
        assert!(!directory.exists());
    }
}
