//! The files of a demonstration, removed with it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera_kit::ProgramError;

/// A private directory that only this user can read. Removed when dropped.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Files {
    /// Creates the directory among the system's temporary ones.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn make() -> Result<Self, ProgramError> {
        directory().map(Self)
    }

    /// Returns the path of a file of this name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a new file.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), ProgramError> {
        let path = self.path(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| cannot(&path, &error))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Another program may already have a directory of this name. None of this process gets the name of an earlier one: what still
/// runs there would write into it.
fn directory() -> Result<PathBuf, ProgramError> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let parent = std::env::temp_dir();
    let mut tries = 0;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("tessera-demo-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(error) => return Err(cannot(&path, &error)),
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> ProgramError {
    ProgramError::failed(path.display(), format_args!("{error}; set $TMPDIR to another directory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_directory_has_the_name_of_an_earlier_one() {
        let first = Files::make().unwrap();
        let path = first.path("");
        first.write("x", "x").unwrap();
        drop(first);
        assert!(!path.exists());
        assert_ne!(Files::make().unwrap().path(""), path);
    }
}
