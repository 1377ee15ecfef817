//! The shim for BoGo, the test runner of BoringSSL (`ssl/test/runner`): one process per test, which makes its
//! connections as its flags require, and checks what they expect.
//!
//! Exit codes: 0 for success, 1 for a failure with its reason on stderr, 89 for a feature that is absent
//! by decision; its name is then added to the file that `BOGO_ABSENT` names, a line for each test. The file that
//! `BOGO_DTLS` names gets a line for each test of DTLS that runs. With `BOGO_KEMS` both roles offer KEMs, too.

mod absent;
mod codecs;
mod configuration;
mod credentials;
mod exchange;
mod expectations;
mod face;
mod flags;
mod link;
mod options;
mod packet_adaptor;
mod peer;
mod side;
mod traffic_secrets;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use flags::{Flags, Scope, Unusable};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flags = match Flags::parse(&arguments) {
        Ok(flags) => flags,
        Err(Unusable::Absent(feature)) => {
            count("BOGO_ABSENT", feature);
            return ExitCode::from(89);
        }
        Err(Unusable::Unknown(what)) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    if flags.get(Scope::Initial).is_handshaker_supported {
        println!("No");
        return ExitCode::SUCCESS;
    }
    if flags.get(Scope::Initial).dtls {
        count("BOGO_DTLS", "");
    }
    match exchange::run(&flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Adds a line to the file that this variable names.
fn count(variable: &str, line: &str) {
    let Some(path) = std::env::var_os(variable) else { return };
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(path) {
        // One write for the line: tests run side by side.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}
