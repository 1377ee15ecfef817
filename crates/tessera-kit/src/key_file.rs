//! Files with the key of a sealed directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::str;

use zeroize::Zeroizing;

use crate::error::ProgramError;
use crate::files::{in_time, open, read_whole};
use crate::hex;
use crate::setting::SettingFile;

/// Boxed, so that it is never moved.
pub type FileKey = Box<Zeroizing<[u8; LEN]>>;

/// Reads the key for a directory that holds `things`: 32 bytes, or as many in hexadecimal.
///
/// # Errors
/// Returns an error if the file can't be read, holds no such key, or lies in that directory.
pub fn read(
    file: SettingFile<'_>,
    things: &str,
    directory: &Path,
) -> Result<FileKey, ProgramError> {
    let found = find(file, directory)?;
    key_of(&found, file, things)
}

/// Reads a key like [`read`], from a file that only its owner may read.
pub(crate) fn read_private(
    file: SettingFile<'_>,
    things: &str,
    directory: &Path,
) -> Result<FileKey, ProgramError> {
    let found = find(file, directory)?;
    if found.mode & 0o077 != 0 {
        return Err(ProgramError::settings(format!(
            "{0}: others can read this key (mode {mode:04o}); chmod 600 {0}",
            file.path.display(),
            mode = found.mode
        )));
    }
    key_of(&found, file, things)
}

/// A file under consideration, with its metadata.
struct KeyCandidate {
    is_in_directory: bool,
    mode: u32,
    bytes: Zeroizing<Vec<u8>>,
}

fn find(file: SettingFile<'_>, directory: &Path) -> Result<KeyCandidate, ProgramError> {
    let (path, directory) = (file.path.to_owned(), directory.to_owned());
    let found = in_time(move || {
        let (mut file, metadata) = open(&path)?;
        let bytes = read_whole(&mut file, MAX_FILE_LEN)?;
        let places = (fs::canonicalize(&path), fs::canonicalize(directory));
        let is_in_directory =
            matches!(places, (Ok(key), Ok(directory)) if key.starts_with(&directory));
        Ok(KeyCandidate { is_in_directory, mode: metadata.permissions().mode() & 0o7777, bytes })
    });
    found.map_err(|error| ProgramError::input(file, &error))
}

fn key_of(
    found: &KeyCandidate,
    file: SettingFile<'_>,
    things: &str,
) -> Result<FileKey, ProgramError> {
    let SettingFile { setting, path } = file;
    let wrong = |what: &str| {
        Err(ProgramError::settings(format!("{}: {what} after {setting}", path.display())))
    };
    if found.is_in_directory {
        return wrong(&format!(
            "the key is next to the {things}, and is copied with them; name one elsewhere, such as below \
             $XDG_RUNTIME_DIR,",
        ));
    }
    let Some(key) = parse(&found.bytes) else {
        return wrong(
            "not a key: 32 bytes, or 64 hexadecimal digits; `openssl rand -hex 32` prints one; check the path",
        );
    };
    if key.iter().fold(0, |any, byte| any | byte) == 0 {
        return wrong("a key of zeros protects nothing; name a random one");
    }
    Ok(key)
}

/// Parses 32 bytes, or 64 hexadecimal digits with white space around them.
fn parse(bytes: &[u8]) -> Option<FileKey> {
    let mut key = FileKey::default();
    if bytes.len() == LEN {
        key.copy_from_slice(bytes);
    } else {
        let digits = hex::decode(str::from_utf8(bytes).ok()?.trim())?;
        key.copy_from_slice((digits.len() == LEN).then_some(&*digits)?);
    }
    Some(key)
}

/// The length of a key, in bytes.
const LEN: usize = 32;

/// Maximum length of the file in bytes: hexadecimal digits with some white space.
const MAX_FILE_LEN: usize = 2 * LEN + 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_32_bytes_or_as_many_in_hexadecimal() {
        let key = [0xA5; 32];
        let digits = "a5".repeat(32);
        for right in [&key[..], digits.as_bytes(), format!(" {digits}\r\n").as_bytes()] {
            assert_eq!(**parse(right).unwrap(), key, "{right:?}");
        }
        for wrong in [&key[..31], &[0xA5; 33], &[0xA5; 64], &digits.as_bytes()[1..], b"", b"\n"] {
            assert!(parse(wrong).is_none(), "{wrong:?}");
        }
    }
}
