//! The program `tessera`, as a function: what others link is in the crates that it calls.
#![forbid(unsafe_code)]

mod advise;
mod arguments;
mod completions;
#[cfg(feature = "lab")]
mod lab;
mod manual;
mod warnings;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use tessera_kit::{ProgramError, memory_guard};

#[cfg(feature = "edge")]
use crate::arguments::Edge;
#[cfg(feature = "orchestrator")]
use crate::arguments::Orchestrator;
#[cfg(feature = "sepp")]
use crate::arguments::Sepp;
#[cfg(feature = "signer")]
use crate::arguments::Signer;
#[cfg(feature = "stek")]
use crate::arguments::Stek;
#[cfg(feature = "tunnel")]
use crate::arguments::TunnelTask;
use crate::arguments::{Arguments, CertificateTask, Command};

/// The lab reads the memory of a connection from it.
#[cfg(feature = "heap")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
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
        Command::Certificate { task } => {
            guard_memory();
            ended(match task {
                CertificateTask::Authority(it) => tessera_commands::make_authority(&it.into()),
                CertificateTask::Issue(it) => tessera_commands::issue(&it.into()),
                CertificateTask::Key(it) => tessera_commands::make_key(&it.into()),
            })
        }
        #[cfg(feature = "tunnel")]
        Command::Tunnel { task } => tunnel(task.into()),
        #[cfg(feature = "sepp")]
        Command::Sepp { task } => sepp(&task),
        #[cfg(feature = "signer")]
        Command::Signer { task } => signer(&task),
        #[cfg(feature = "stek")]
        Command::Stek { task } => stek(&task),
        #[cfg(feature = "edge")]
        Command::Edge { task } => edge(&task),
        #[cfg(feature = "orchestrator")]
        Command::Orchestrator { task } => orchestrator(task),
        #[cfg(feature = "lab")]
        Command::Lab { experiment } => lab::run(experiment),
        #[cfg(not(feature = "lab"))]
        Command::Lab { .. } => ended(Err(ProgramError::settings(
            "this build has no laboratory: run `cargo lab` in a copy of the source",
        ))),
        Command::Advise(arguments) => ended(advise::run(*arguments)),
        Command::Completions { shell } => ended(completions::write(shell)),
        Command::Manual { directory } => ended(manual::write(&directory)),
    }
}

/// Protects the secrets of connections in this process's memory.
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
        #[cfg(feature = "demo")]
        TunnelTask::Demo(options) => ended(tessera_tunnel::demo(&options)),
    }
}

#[cfg(feature = "sepp")]
fn sepp(task: &Sepp) -> ExitCode {
    match task {
        Sepp::Run { configuration } => {
            guard_memory();
            ended(tessera_sepp::run(&configuration.file))
        }
        Sepp::Check { configuration } => ended(tessera_sepp::check(&configuration.file)),
        #[cfg(feature = "demo")]
        Sepp::Demo { json } => {
            ended(tessera_sepp::demo(&tessera_sepp::DemoOptions { json: *json }))
        }
    }
}

#[cfg(feature = "edge")]
fn edge(task: &Edge) -> ExitCode {
    match task {
        Edge::Run { configuration } => {
            guard_memory();
            ended(tessera_edge::run(&configuration.file))
        }
        Edge::Check { configuration } => ended(tessera_edge::check(&configuration.file)),
        #[cfg(feature = "demo")]
        Edge::Demo { json } => {
            ended(tessera_edge::demo(&tessera_edge::DemoOptions { json: *json }))
        }
    }
}

#[cfg(feature = "signer")]
fn signer(task: &Signer) -> ExitCode {
    match task {
        Signer::Run { configuration } => {
            guard_memory();
            ended(tessera_signer::run(&configuration.file))
        }
        Signer::Check { configuration } => ended(tessera_signer::check(&configuration.file)),
    }
}

#[cfg(feature = "stek")]
fn stek(task: &Stek) -> ExitCode {
    match task {
        Stek::Run { configuration } => {
            guard_memory();
            ended(tessera_stek::run(&configuration.file))
        }
        Stek::Check { configuration } => ended(tessera_stek::check(&configuration.file)),
        Stek::Status { configuration, json } => {
            match tessera_stek::status(&configuration.file, *json) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::from(1),
                Err(error) => failed(&error, error.exit_code()),
            }
        }
        Stek::Rotate { configuration } => {
            ended(tessera_stek::change(&configuration.file, tessera_stek::ChangeKind::Rotate))
        }
        #[cfg(feature = "demo")]
        Stek::Demo { json } => {
            ended(tessera_stek::demo(&tessera_stek::DemoOptions { json: *json }))
        }
        Stek::Revoke { configuration, now: _ } => {
            ended(tessera_stek::change(&configuration.file, tessera_stek::ChangeKind::Revoke))
        }
    }
}

#[cfg(feature = "orchestrator")]
fn orchestrator(task: Orchestrator) -> ExitCode {
    match orchestrate(task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => failed(&error, error.exit_code()),
    }
}

/// Returns whether all is well.
#[cfg(feature = "orchestrator")]
fn orchestrate(task: Orchestrator) -> Result<bool, ProgramError> {
    use tessera_orchestrator::operator::{self, DrainScope, ProxyName};
    use tessera_orchestrator::state::{JsonClient, RequestedMove};

    let done = match task {
        Orchestrator::Run { configuration } => {
            guard_memory();
            tessera_orchestrator::run(&configuration.file)
        }
        Orchestrator::Check { configuration } => tessera_orchestrator::check(&configuration.file),
        Orchestrator::Move { client, to, wait, queue, json, api } => {
            let client = JsonClient { client: Some(client), client_hex: None };
            let requested = RequestedMove { client, to: to.into(), wait: wait.into(), queue };
            operator::request_move(api.address()?, &requested, json)
        }
        Orchestrator::Abort { client, json, api } => {
            operator::abort(api.address()?, client.as_bytes(), json)
        }
        Orchestrator::Drain { proxy, undo, api } => {
            operator::drain(api.address()?, &DrainScope::Proxy(ProxyName(proxy)), undo)
        }
        Orchestrator::Evacuate { site, undo, api } => {
            operator::drain(api.address()?, &DrainScope::Site(site), undo)
        }
        Orchestrator::Status { clients: true, json, api, .. } => {
            operator::clients(api.address()?, json)
        }
        Orchestrator::Status { client, json, api, .. } => {
            let client = client.as_deref().map(str::as_bytes);
            return operator::status(api.address()?, client, json);
        }
    };
    done.map(|()| true)
}

fn failed(error: &dyn std::error::Error, code: u8) -> ExitCode {
    say(format_args!("error: {error}"));
    ExitCode::from(code)
}

/// Writes a line to standard error. If that fails, the exit code still shows the result.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
