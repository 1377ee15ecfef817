//! The program `tessera`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tessera_cli::main()
}
