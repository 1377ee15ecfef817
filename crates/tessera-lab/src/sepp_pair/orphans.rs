//! What is left if this process is killed: a shell ends it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::unistd::Pid;

use crate::error::LabError;

/// A shell that waits for the end of this process, however that comes, and then kills processes and removes a
/// directory. Dropped, it does nothing.
pub(super) struct Orphans(Child);

impl Orphans {
    pub(super) fn watch(processes: [Pid; 2], directory: &Path) -> Result<Self, LabError> {
        let [one, other] = processes.map(|pid| pid.to_string());
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", &one, &other]).arg(directory);
        // Its standard input ends when nobody can write there any more.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Self).map_err(LabError::system("starting `sh` beside the SEPPs"))
    }
}

/// Ctrl-C is for all processes of a terminal; this one goes on.
const SCRIPT: &str = r#"trap '' INT; read -r _; kill -KILL "$1" "$2"; rm -rf -- "$3""#;

impl Drop for Orphans {
    fn drop(&mut self) {
        // Killed before its standard input ends: it is the parent of nobody.
        let _: io::Result<()> = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;

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
        drop(Orphans::watch(pids, &directory).unwrap());
        assert!(directory.exists());
        assert!(sleepers[0].try_wait().unwrap().is_none(), "it ended with the watch");

        let mut orphans = Orphans::watch(pids, &directory).unwrap();
        drop(orphans.0.stdin.take());
        orphans.0.wait().unwrap();
        for sleeper in &mut sleepers {
            assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
        }
        assert!(!directory.exists());
    }
}
