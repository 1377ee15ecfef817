//! Building and measuring the images, through `scripts/firmware` of a checkout.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io, process};

use super::Options;
use super::report::Report;
use crate::error::LabError;

/// The script, in a checkout.
const SCRIPT: &str = "scripts/firmware";

/// What it needs: a program on PATH or a file, and the package of Debian that has it.
const NEEDED: [(&str, &str); 9] = [
    ("python3", "python3"),
    ("git", "git"),
    ("/usr/bin/rustc", "rustc-web"),
    ("/usr/bin/cargo", "cargo-web"),
    ("/usr/lib/rustlib/src/rust/library", "rust-web-src"),
    ("ld.lld", "lld"),
    ("nm", "binutils"),
    ("openssl", "openssl"),
    ("qemu-system-arm", "qemu-system-arm"),
];

/// Builds and runs the images; what the script prints meanwhile goes to standard error.
pub(super) fn measured(options: &Options) -> Result<Report, LabError> {
    let source = match &options.source {
        Some(source) => of_source(source)?,
        None => {
            around(&env::current_dir().map_err(LabError::system("finding the current directory"))?)?
        }
    };
    check_needed()?;
    let written = Written(env::temp_dir().join(format!("tessera-embedded-{}.json", process::id())));
    let mut command = Command::new(source.join(SCRIPT));
    command.arg("--json").arg(&written.0);
    command.arg("--connections").arg(options.common.repetitions.to_string());
    if options.small {
        command.arg("--small");
    }
    if options.suites {
        command.arg("--suites");
    }
    if !options.images.is_empty() {
        command.arg("--images").args(&options.images);
    }
    let status = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(LabError::system(format!("starting {SCRIPT}")))?;
    match status.code() {
        Some(0) => Report::read(&written.0),
        // Its message names the option.
        Some(2) => {
            Err(LabError::Options(format!("{SCRIPT} refuses its options, as it prints above")))
        }
        _ => Err(LabError::Connection(format!("{SCRIPT} failed, as it prints above ({status})"))),
    }
}

/// A file that is removed in the end.
struct Written(PathBuf);

impl Drop for Written {
    fn drop(&mut self) {
        // Without a result there is none.
        let _ = fs::remove_file(&self.0);
    }
}

fn of_source(source: &Path) -> Result<PathBuf, LabError> {
    if source.join(SCRIPT).is_file() {
        return Ok(source.to_owned());
    }
    let source = source.display();
    Err(LabError::Options(format!(
        "--source: {source} is no checkout of Tessera: it has no {SCRIPT}"
    )))
}

/// Returns the checkout around a directory.
fn around(directory: &Path) -> Result<PathBuf, LabError> {
    let found = directory.ancestors().find(|place| place.join(SCRIPT).is_file());
    found.map(Path::to_owned).ok_or_else(|| {
        LabError::Options(format!(
            "--source: {} is in no checkout of Tessera, from which the images are built; name one, or a recorded report with \
             --from",
            directory.display()
        ))
    })
}

/// Names what is missing, and the packages that have it.
fn check_needed() -> Result<(), LabError> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Joined to a directory of PATH, an absolute name stays as it is.
    let is_there = |name: &str| env::split_paths(&path).any(|place| place.join(name).exists());
    let missing: Vec<_> = NEEDED.iter().filter(|(name, _)| !is_there(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    Err(LabError::Connection(format!(
        "missing: {}; on Debian: apt-get install {}",
        names.join(", "),
        packages.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_the_one_around_a_directory() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        assert_eq!(around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap(), root);
        assert_eq!(of_source(root).unwrap(), root);
        for refused in [around(&env::temp_dir()), of_source(&env::temp_dir())] {
            let LabError::Options(what) = refused.unwrap_err() else {
                panic!("not of the options")
            };
            assert!(
                what.starts_with("--source: ") && what.contains("checkout of Tessera"),
                "{what}"
            );
        }
    }
}
