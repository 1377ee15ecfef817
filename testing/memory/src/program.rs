//! The program `tessera`, for the tests that attack it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tessera_cli::main()
}
