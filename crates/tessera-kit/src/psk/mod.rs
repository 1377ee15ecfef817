//! Keys agreed outside TLS (RFC 9257), in files.

mod named_key;

pub use named_key::NamedKey;

use crate::error::ProgramError;
use crate::files;
use crate::setting::SettingFile;

/// Reads the keys of a file, at least one, each with its line number: one per line; empty lines and lines
/// that start with # are skipped.
///
/// # Errors
/// Returns an error if the file can't be read, has no key, or has an invalid line.
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
        Ok(keys) if keys.is_empty() => Err(ProgramError::in_file(
            path,
            "no PSK in this file; write one per line, as IDENTITY:HEX",
        )),
        other => other,
    }
}

/// Adds the keys of a file to others.
///
/// # Errors
/// As for [`read`], or if an identity is a duplicate: only the first would ever be used.
pub fn read_into(keys: &mut Vec<NamedKey>, file: SettingFile<'_>) -> Result<(), ProgramError> {
    for (line, key) in read(file)? {
        if keys.iter().any(|known| known.identity == key.identity) {
            let again = "another PSK has this identity; list each identity once";
            return Err(ProgramError::in_line(file.path, line, again));
        }
        keys.push(key);
    }
    Ok(())
}

/// Room for a hundred thousand keys.
const MAX_LEN: usize = 16 * 1024 * 1024;
