//! Explains how to continue when a long run is interrupted.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::{fs, process, thread};

use nix::sys::signal::Signal;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::LabError;

/// The shells' exit code for a program ended by SIGINT.
const INTERRUPTED: i32 = 128 + Signal::SIGINT as i32;

/// From now on, an interruption (Ctrl-C) ends this process with a line about how to continue, unless it was started
/// with interruptions ignored. This starts another thread.
///
/// # Errors
/// [`LabError::System`].
pub(crate) fn tell_how_to_go_on(journal: Option<&Path>) -> Result<(), LabError> {
    // Shells start background jobs like this, and users start programs like this that should go on.
    if is_ignored(Signal::SIGINT) {
        return Ok(());
    }
    let line = match journal {
        Some(path) => format!(
            "interrupted: the finished part is in {}; the same command continues from there",
            path.display()
        ),
        None => "interrupted: nothing of it is kept; with `--resume FILE` a run continues where it stopped"
            .to_owned(),
    };
    let wait = || -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let mut interruption = {
            let _runtime = runtime.enter();
            signal(SignalKind::interrupt())?
        };
        thread::Builder::new().name("interruption".to_owned()).spawn(move || {
            runtime.block_on(interruption.recv());
            let mut stderr = io::stderr();
            // The line has the progress bar, and `^C`.
            let begin = if stderr.is_terminal() { "\n" } else { "" };
            let _ = writeln!(stderr, "{begin}{line}");
            process::exit(INTERRUPTED);
        })?;
        Ok(())
    };
    wait().map_err(LabError::system("preparing for interruptions"))
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal as i32 - 1)) != 0)
}
