//! Files that are not replaced without being asked to.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use der::pem::{LineEnding, encode_string};
use tessera_kit::{ProgramError, SettingFile};
use zeroize::Zeroizing;

/// Returns DER as PEM (RFC 7468).
pub(super) fn pem_of(label: &str, der: &[u8]) -> Result<Zeroizing<String>, ProgramError> {
    let text = encode_string(label, LineEnding::LF, der).map(Zeroizing::new);
    text.map_err(|error| ProgramError::failed("PEM", error))
}

/// Checks that the files of a command are different ones, since each replaces what is there.
pub(super) fn check_different(files: &[(&str, &Path)]) -> Result<(), ProgramError> {
    let place = |path: &Path| {
        let directory =
            path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
        Some((directory?.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    for (index, (setting, path)) in files.iter().enumerate() {
        let same = |it: &&(&str, &Path)| place(path).is_some_and(|own| place(it.1) == Some(own));
        if let Some((earlier, _)) = files.iter().take(index).find(same) {
            let what = format_args!("{earlier} and {setting} name the same file: name two");
            return Err(ProgramError::in_file(path, what));
        }
    }
    Ok(())
}

/// A file to write.
pub(super) struct Output<'a> {
    file: SettingFile<'a>,
    force: bool,
}

impl<'a> Output<'a> {
    /// Checks that nothing is there, unless it may be replaced, and that there is a directory: a key without its
    /// certificate would be in the way of the next attempt.
    pub(super) fn new(setting: &'a str, path: &'a Path, force: bool) -> Result<Self, ProgramError> {
        let output = Self { file: SettingFile { setting, path }, force };
        match path.symlink_metadata() {
            Ok(_) if !force => Err(output.is_there()),
            _ => {
                let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
                let there = directory.map_or(Ok(()), |it| it.metadata().map(drop));
                there.map_err(|error| ProgramError::output(output.file, &error))?;
                Ok(output)
            }
        }
    }

    /// Writes a file that others may read.
    pub(super) fn write(&self, text: &str) -> Result<(), ProgramError> {
        self.write_with(0o644, text)
    }

    /// Writes a file that only its owner may read.
    pub(super) fn write_secret(&self, text: &str) -> Result<(), ProgramError> {
        self.write_with(0o600, text)
    }

    fn write_with(&self, mode: u32, text: &str) -> Result<(), ProgramError> {
        let path = self.file.path;
        let write = || -> io::Result<()> {
            if self.force {
                match fs::remove_file(path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => (),
                }
            }
            // A file that existed would keep its mode, and a link its target.
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => self.is_there(),
            _ => ProgramError::output(self.file, &error),
        })
    }

    fn is_there(&self) -> ProgramError {
        let SettingFile { setting, path } = self.file;
        ProgramError::in_file(
            path,
            format_args!(
                "this file exists: name another after {setting}, or replace it with --force"
            ),
        )
    }
}
