//! Files with a key under which a directory is sealed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::str;

use zeroize::Zeroizing;

use crate::error::ProgramError;
use crate::hex;
use crate::setting::SettingFile;

/// In a box: it is not moved.
pub type FileKey = Box<Zeroizing<[u8; LEN]>>;

/// Reads the key of a directory with such things in it: 32 bytes, or as many in hexadecimal.
///
/// # Errors
/// If the file can't be read, is no such key, or lies in that directory.
pub fn read(
    file: SettingFile<'_>,
    things: &str,
    directory: &Path,
) -> Result<FileKey, ProgramError> {
    let SettingFile { setting, path } = file;
    let wrong = |what: &str| {
        Err(ProgramError::settings(format!("{}: {what} after {setting}", path.display())))
    };
    if let (Ok(key), Ok(directory)) = (fs::canonicalize(path), fs::canonicalize(directory))
        && key.starts_with(directory)
    {
        return wrong(&format!(
            "the key lies beside the {things}, and goes wherever they go; name one that lies elsewhere, \
             such as below $XDG_RUNTIME_DIR,",
        ));
    }
    let bytes = read_file(path).map_err(|error| ProgramError::input(file, &error))?;
    let Some(key) = parse(&bytes) else {
        return wrong(
            "not a key: 32 bytes, or 64 hexadecimal digits; `openssl rand -hex 32` writes one; check the path",
        );
    };
    if key.iter().fold(0, |any, byte| any | byte) == 0 {
        return wrong("a key of zeros protects nothing; name a random one");
    }
    Ok(key)
}

/// 32 bytes, or 64 hexadecimal digits with white space around them.
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

/// No more than a key can have; it may be a pipe.
fn read_file(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    // Read where it stays: a vector that grows leaves secrets in the memory that it gives back.
    let mut bytes = Zeroizing::new(vec![0; MAX_FILE_LEN]);
    let len = read_into(&mut File::open(path)?, &mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads to the end, or as much as there is room for; returns how many bytes.
pub(crate) fn read_into(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while let Some(room @ [_, ..]) = bytes.get_mut(len..) {
        match file.read(room) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}

/// The length of a key, in bytes.
const LEN: usize = 32;

/// Room for hexadecimal digits with some white space, in bytes.
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
