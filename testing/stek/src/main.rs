//! `tessera stek TASK FILE`, for the tests of this package: cargo builds no other package's program for them.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use tessera_stek::ChangeKind;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [task, file] = arguments.as_slice() else {
        eprintln!("stek-under-test: which task, which file?");
        return ExitCode::from(2);
    };
    let file = Path::new(file);
    let result = match task.as_str() {
        "run" => tessera_stek::run(file),
        "check" => tessera_stek::check(file),
        "rotate" => tessera_stek::change(file, ChangeKind::Rotate),
        "revoke" => tessera_stek::change(file, ChangeKind::Revoke),
        _ => match tessera_stek::status(file, true) {
            Ok(true) => return ExitCode::SUCCESS,
            Ok(false) => return ExitCode::from(1),
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
