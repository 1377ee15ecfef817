//! `tessera completions`.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use tessera_kit::ProgramError;
use tessera_kit::report::print;

use crate::arguments::Arguments;

/// Writes the completions of a shell to standard output.
pub(crate) fn write(shell: Shell) -> Result<(), ProgramError> {
    let mut script = Vec::new();
    let mut command = visible(&Arguments::command());
    clap_complete::generate(shell, &mut command, "tessera", &mut script);
    print(script)
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
