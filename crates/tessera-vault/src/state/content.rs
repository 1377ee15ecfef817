//! What a state's directory may hold.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use nix::unistd::geteuid;

use super::error::{StateError, StateProblem};
use crate::directory::OwnedDirectory;
use crate::memory::snapshot::MAGIC as SNAPSHOT_MAGIC;

/// The files of a state. `key-was` is for notes of the key's owner, `certificate.pem` for a server
/// certificate that belongs to no other directory.
const OURS: [&str; 15] = [
    "lock",
    "ring",
    "reset-key",
    "state",
    "snapshot",
    "key-was",
    "certificate.pem",
    "certificate.pem.new",
    "ring.new",
    "reset-key.new",
    "state.new",
    "snapshot.new",
    "associations",
    "associations.new",
    // Present in a mount point.
    "lost+found",
];

/// Refuses directories that other users can write to, and those with foreign files.
pub(super) fn check_directory(dir: &Path) -> Result<(), StateError> {
    let failed = |error| StateError::io(dir, "", error);
    let metadata = match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(failed)?,
    };
    if !metadata.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    if metadata.uid() != geteuid().as_raw() {
        let problem = StateProblem::OwnedByAnother { owner: metadata.uid() };
        return Err(StateError::new(dir, "", problem));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(StateError::new(dir, "", StateProblem::WritableByOthers { mode }));
    }
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !OURS.iter().any(|ours| name == *ours) {
            return Err(StateError::new(dir, "", StateProblem::HoldsOtherFiles));
        }
    }
    Ok(())
}

/// Removes all files of a state, but for its owner's.
pub(super) fn remove_all(directory: &OwnedDirectory) -> io::Result<()> {
    for name in ["ring", "snapshot", "state", "reset-key", "associations"] {
        directory.remove(name)?;
        directory.remove(&format!("{name}.new"))?;
    }
    directory.sync()
}

/// Refuses a snapshot of a later version.
pub(super) fn check_snapshot_version(directory: &OwnedDirectory) -> Result<(), StateError> {
    let failed = |error| StateError::io(directory.path(), "snapshot", error);
    let Some(mut file) = directory.open("snapshot").map_err(failed)? else { return Ok(()) };
    let mut magic = [0; SNAPSHOT_MAGIC.len()];
    if file.read_exact(&mut magic).is_err() {
        // Reading it later reports the damage.
        return Ok(());
    }
    match (magic.split_last(), SNAPSHOT_MAGIC.split_last()) {
        (Some((version, name)), Some((ours, known))) if name == known && version > ours => {
            let problem = StateProblem::Newer { version: *version };
            Err(StateError::new(directory.path(), "snapshot", problem))
        }
        _ => Ok(()),
    }
}
