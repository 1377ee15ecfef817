//! `tessera edge run FILE` and `tessera edge check FILE`, `tessera orchestrator run FILE` as `orchestrate FILE`, and
//! `tessera stek run FILE` as `stek FILE`, for the tests of this package: cargo builds no other package's program for them.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let done = match words.as_slice() {
        [what, file] if what == "run" => tessera_edge::run(Path::new(file)),
        [what, file] if what == "orchestrate" => tessera_orchestrator::run(Path::new(file)),
        [what, file] if what == "stek" => tessera_stek::run(Path::new(file)),
        [what, file] if what == "check" => tessera_edge::check(Path::new(file)),
        _ => {
            eprintln!("edge-under-test: run, check, orchestrate or stek, and FILE");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
