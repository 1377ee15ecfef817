//! `tessera lab`.

use std::io::ErrorKind;
use std::process::ExitCode;

use tessera_kit::open_files;
use tessera_lab::mobile::program;
use tessera_lab::{
    LabError, bithac, edge, embedded, endpoint, load, mobile, reconnect, results, roaming, sites,
    traffic,
};

use crate::arguments::{DtlsEnd, Lab};
use crate::{failed, guard_memory};

/// Runs an experiment, or one end of it.
pub(crate) fn run(experiment: Lab) -> ExitCode {
    let result = match experiment {
        Lab::Reconnect(options) => reconnect::run(&options.into()),
        Lab::Sites(options) => sites::run(&options.into()),
        Lab::Traffic(options) => traffic::run(&options.into()),
        Lab::Bithac(options) => bithac::run(&options.into()),
        Lab::Dtls(options) => mobile::run(&options.into()),
        Lab::Edge(options) => edge::run(&options.into()),
        Lab::Embedded(options) => embedded::run(&options.into()),
        Lab::Load(options) => load::run(&options.into()),
        Lab::Results(options) => results::run(&options.into()),
        Lab::Roaming(options) => roaming::run(&options.into()),
        Lab::Endpoint { end } => return endpoint_ended(endpoint::run(end.into(), guard_memory)),
        Lab::DtlsEnd { end } => {
            return endpoint_ended(match end {
                DtlsEnd::Server(options) => program::run_server(&options.into()),
                DtlsEnd::Client(options) => program::run_client(&options.into()),
            });
        }
        Lab::LoadEndpoint { end } => {
            guard_memory();
            return endpoint_ended(load::endpoint::run(end.into(), open_files::raise()));
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ LabError::Options(_)) => failed(&error, WRONG_OPTIONS),
        // A reader that closes the pipe has seen enough: no error.
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

/// The program failed while it ran.
const FAILED: u8 = 1;
/// The options contradict each other; the same code as for a parse error.
const WRONG_OPTIONS: u8 = 2;
