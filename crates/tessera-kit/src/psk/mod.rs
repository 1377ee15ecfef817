//! Keys that were agreed outside of TLS (RFC 9257), in files.

mod named_key;

pub use named_key::NamedKey;

use crate::error::ProgramError;
use crate::files;
use crate::setting::SettingFile;

/// The keys of a file, at least one, each with the number of its line: one a line; empty lines and those that
/// begin with # are skipped.
///
/// # Errors
/// If the file can't be read, has no key in it, or a line is none.
pub fn read(file: SettingFile<'_>) -> Result<Vec<(usize, NamedKey)>, ProgramError> {
    let path = file.path;
    let text = files::read_text(file, MAX_LEN)?;
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<_>, _> = lines
        .map(|(index, line)| {
            let number = index + 1;
            let key = NamedKey::parse(line);
            Ok((number, key.map_err(|error| ProgramError::in_line(path, number, error))?))
        })
        .collect();
    match keys {
        Ok(keys) if keys.is_empty() => {
            Err(ProgramError::in_file(path, "no PSK in it; write one a line, as IDENTITY:HEX"))
        }
        other => other,
    }
}

/// Adds the keys of a file to others.
///
/// # Errors
/// As of [`read`], or if an identity is there twice: the first one would be used, and the other never.
pub fn read_into(keys: &mut Vec<NamedKey>, file: SettingFile<'_>) -> Result<(), ProgramError> {
    for (line, key) in read(file)? {
        if keys.iter().any(|known| known.identity == key.identity) {
            let again = "the identity of another PSK; name each once";
            return Err(ProgramError::in_line(file.path, line, again));
        }
        keys.push(key);
    }
    Ok(())
}

/// A hundred thousand keys.
const MAX_LEN: usize = 16 * 1024 * 1024;
