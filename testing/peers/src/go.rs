//! Programs in Go, which tests build with its standard library alone.

use std::path::Path;
use std::process::Command;

use crate::{Directory, Peer};

/// Builds the program of this module, and returns its path in `directory`. `cache` keeps the compiled standard library:
/// compiling that takes most of a first build.
///
/// # Panics
/// If Go is missing, or the program doesn't build.
#[track_caller]
pub fn build(module: &Path, cache: &Path, directory: &Directory) -> String {
    let (_, go) = Peer::checked("go");
    let program = directory.path("program");
    let built = Command::new(go)
        // Not optimized: the standard library takes a quarter less time.
        .args(["build", "-gcflags=all=-N -l", "-o", &program, "."])
        .current_dir(module)
        .env("GOCACHE", cache)
        // It downloads nothing, and needs no C compiler.
        .envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", ""), ("CGO_ENABLED", "0")])
        .output()
        .expect("it printed its version");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}
