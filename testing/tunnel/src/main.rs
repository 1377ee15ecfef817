//! `tessera tunnel run FILE`, for the tests of this package: cargo builds no other package's program for them.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tessera_tunnel::Source;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("tunnel-under-test: which file?");
        return ExitCode::from(2);
    };
    match tessera_tunnel::run(Source::File(file.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
