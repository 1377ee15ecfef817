//! Epoch keys in a file: data in etcd becomes unreadable with its epoch's key.

use std::time::Duration;

use tessera_kit::{ProgramError, SettingFile, files, hex};
use tessera_vault::EpochKey;
use zeroize::Zeroizing;

/// Reads the file.
pub(super) fn read(file: SettingFile<'_>) -> Result<Zeroizing<String>, ProgramError> {
    files::read_text(file, MAX_LEN)
}

/// Ten thousand keys.
const MAX_LEN: usize = 1024 * 1024;

/// Parses the epoch keys, at least one: `BEGINS SECONDS HEX` a line, where BEGINS is since the Unix epoch, and the key
/// has 32 bytes. Each wraps for SECONDS, and opens for an hour more, the lifetime of a one-time key. Empty lines and
/// those that begin with # are skipped.
pub(super) fn parse(file: SettingFile<'_>, text: &str) -> Result<Vec<EpochKey>, ProgramError> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<EpochKey> = lines
        .map(|(index, line)| {
            parse_line(line).map_err(|what| ProgramError::in_line(file.path, index + 1, what))
        })
        .collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err(ProgramError::in_file(
            file.path,
            format_args!("no epoch key in this file; {FORM}"),
        ));
    }
    Ok(keys)
}

fn parse_line(line: &str) -> Result<EpochKey, String> {
    let mut words = line.split_ascii_whitespace();
    let (Some(begins), Some(seconds), Some(digits), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(FORM.to_owned());
    };
    let (Ok(begins), Ok(seconds)) = (begins.parse(), seconds.parse()) else {
        return Err(FORM.to_owned());
    };
    let bytes = hex::decode(digits).filter(|bytes| bytes.len() == 32).ok_or(FORM)?;
    let mut secret = Zeroizing::new([0; 32]);
    secret.copy_from_slice(&bytes);
    // The beginning: the same at all servers, not secret, and unique for each epoch.
    let mut id = [0; 16];
    id[8..].copy_from_slice(&u64::to_be_bytes(begins));
    let begins = Duration::from_secs(begins);
    let until = begins.saturating_add(Duration::from_secs(seconds));
    Ok(EpochKey {
        // The clocks of a fleet differ by minutes.
        known_from: begins.saturating_sub(Duration::from_secs(600)),
        issues_from: begins,
        issues_until: until,
        opens_until: until.saturating_add(ONE_TIME_KEY),
        ..EpochKey::forever(id, secret)
    })
}

/// The lifetime of a one-time key.
const ONE_TIME_KEY: Duration = Duration::from_secs(3600);

const FORM: &str = "an epoch key is BEGINS SECONDS HEX: its start since the Unix epoch, its duration, and 32 bytes, \
                    such as \
                    $(date +%s) 3600 $(openssl rand -hex 32)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_key_is_one_line_that_all_servers_read_alike() {
        let digits = "a5".repeat(32);
        let read = || parse_line(&format!("1700000000 3600 {digits}")).unwrap();
        let key = read();
        assert_eq!((key.id, *key.secret), (read().id, [0xa5; 32]));
        let seconds = |time: Duration| time.as_secs() - 1_700_000_000;
        assert_eq!(seconds(key.issues_from), 0);
        assert_eq!((seconds(key.issues_until), seconds(key.opens_until)), (3600, 7200));
        assert_ne!(parse_line(&format!("1700003600 3600 {digits}")).unwrap().id, key.id);
        for wrong in
            ["", "1 2", "x 3600 a5", "1 -1 a5", "1 3600 a5", &format!("1 3600 {digits} more")]
        {
            assert!(
                parse_line(wrong).is_err_and(|what| what.contains("BEGINS SECONDS HEX")),
                "{wrong}"
            );
        }
    }
}
