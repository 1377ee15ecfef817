//! `tessera completions`.

use std::io::{self, ErrorKind, Write};

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use tessera_kit::ProgramError;

use crate::arguments::Arguments;

/// Writes the completions of a shell to standard output.
pub(crate) fn write(shell: Shell) -> Result<(), ProgramError> {
    let mut script = Vec::new();
    let mut command = visible(&Arguments::command());
    clap_complete::generate(shell, &mut command, "tessera", &mut script);
    let mut stdout = io::stdout();
    match stdout.write_all(&script).and_then(|()| stdout.flush()) {
        // A reader that closes the pipe has seen enough: no error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(ProgramError::failed("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Returns the command without hidden items, which a shell would otherwise offer.
fn visible(command: &Command) -> Command {
    let parts = command.get_subcommands().filter(|part| !part.is_hide_set()).map(visible);
    let copy = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().cloned())
        .subcommands(parts);
    let copy = command.get_about().into_iter().fold(copy, |copy, about| copy.about(about.clone()));
    command.get_version().into_iter().fold(copy, |copy, version| copy.version(version.to_owned()))
}
