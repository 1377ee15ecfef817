//! The program `tessera`.
#![forbid(unsafe_code)]

mod advise;
mod arguments;
mod completions;
mod manual;
mod warnings;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use tessera_kit::{ProgramError, memory_guard, open_files};
use tessera_lab::{LabError, bithac, endpoint, load, reconnect, results, roaming, sites, traffic};

#[cfg(feature = "sepp")]
use crate::arguments::Sepp;
#[cfg(feature = "tunnel")]
use crate::arguments::TunnelTask;
use crate::arguments::{Arguments, Command, Lab};

/// The lab reads from it what a connection holds.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve(arguments) => {
            guard_memory();
            warnings::show();
            ended(tessera_commands::serve(&(*arguments).into()))
        }
        Command::Connect(arguments) => {
            guard_memory();
            warnings::show();
            ended(tessera_commands::connect(&(*arguments).into()))
        }
        #[cfg(feature = "tunnel")]
        Command::Tunnel { task } => tunnel(task.into()),
        #[cfg(feature = "sepp")]
        Command::Sepp { task } => sepp(&task),
        Command::Lab { experiment } => lab(experiment),
        Command::Advise(arguments) => ended(advise::run(*arguments)),
        Command::Completions { shell } => ended(completions::write(shell)),
        Command::Manual { directory } => ended(manual::write(&directory)),
    }
}

/// Keeps the secrets of connections in this process.
fn guard_memory() {
    if let Some(problem) = memory_guard::raise() {
        say(format_args!("warning: {problem}"));
    }
}

fn ended(result: Result<(), ProgramError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, error.exit_code()),
    }
}

#[cfg(feature = "tunnel")]
fn tunnel(task: TunnelTask) -> ExitCode {
    match task {
        TunnelTask::Run(source) => {
            guard_memory();
            ended(tessera_tunnel::run(source))
        }
        TunnelTask::Check(file) => ended(tessera_tunnel::check(&file)),
        TunnelTask::Demo(options) => ended(tessera_tunnel::demo(&options)),
    }
}

#[cfg(feature = "sepp")]
fn sepp(task: &Sepp) -> ExitCode {
    match task {
        Sepp::Run { file } => {
            guard_memory();
            ended(tessera_sepp::run(file))
        }
        Sepp::Check { file } => ended(tessera_sepp::check(file)),
        Sepp::Demo { json } => {
            ended(tessera_sepp::demo(&tessera_sepp::DemoOptions { json: *json }))
        }
    }
}

fn lab(experiment: Lab) -> ExitCode {
    let result = match experiment {
        Lab::Reconnect(options) => reconnect::run(&options.into()),
        Lab::Sites(options) => sites::run(&options.into()),
        Lab::Traffic(options) => traffic::run(&options.into()),
        Lab::Bithac(options) => bithac::run(&options.into()),
        Lab::Load(options) => load::run(&options.into()),
        Lab::Results(options) => results::run(&options.into()),
        Lab::Roaming(options) => roaming::run(&options.into()),
        Lab::Endpoint { end } => return endpoint_ended(endpoint::run(end.into(), guard_memory)),
        Lab::LoadEndpoint { end } => {
            guard_memory();
            return endpoint_ended(load::endpoint::run(end.into(), open_files::raise()));
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ LabError::Options(_)) => failed(&error, WRONG_OPTIONS),
        // Whoever read the table has seen enough, and needs no word about it.
        Err(LabError::System { source, .. }) if source.kind() == ErrorKind::BrokenPipe => {
            ExitCode::from(FAILED)
        }
        Err(error) => failed(&error, FAILED),
    }
}

fn endpoint_ended(result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, FAILED),
    }
}

/// Something went wrong while the program ran.
const FAILED: u8 = 1;
/// The options can't be as they are; the same code as for those that don't parse.
const WRONG_OPTIONS: u8 = 2;

fn failed(error: &dyn std::error::Error, code: u8) -> ExitCode {
    say(format_args!("error: {error}"));
    ExitCode::from(code)
}

/// A line on standard error. Where it can't be written, the exit code still says what happened.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
