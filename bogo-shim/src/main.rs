//! The shim for BoGo, the test runner of BoringSSL (`ssl/test/runner`): one process per test, which
//! makes its connections, does what its flags say, and checks what they expect.
//!
//! Exit codes: 0 for success, 1 for a failure with its reason on stderr, 89 for a flag or feature that
//! isn't implemented.

mod configuration;
mod exchange;
mod flags;
mod peer;

use std::process::ExitCode;

use flags::{Flags, Scope};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flags = match Flags::parse(&arguments) {
        Ok(flags) => flags,
        Err(unimplemented) => {
            eprintln!("unimplemented: {unimplemented}");
            return ExitCode::from(89);
        }
    };
    if flags.get(Scope::Initial).is_handshaker_supported {
        println!("No");
        return ExitCode::SUCCESS;
    }
    match exchange::run(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
