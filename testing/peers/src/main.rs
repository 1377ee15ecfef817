//! Prints the tests' peers with the installed versions, and fails if one is missing.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for peer in tessera_test_peers::table() {
        match peer.version() {
            Ok(version) => println!("{} {version} (accepted: {})", peer.program, peer.versions),
            Err(reason) => {
                eprintln!("{reason}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
