//! The key log in a file (RFC 9850), for Wireshark.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use tessera::{KeyLog, Zeroizing};

use crate::error::ProgramError;
use crate::hex;
use crate::setting::SettingFile;

/// Appends the secrets of connections to a file that only its owner can read: any reader of it can decrypt
/// them.
#[derive(Debug)]
pub struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// Returns an error if it can't be written.
    pub fn open(file: SettingFile<'_>) -> Result<Self, ProgramError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.open(file.path);
        opened
            .map(|file| Self(Mutex::new(file)))
            .map_err(|error| ProgramError::output(file, &error))
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let secret = Zeroizing::new(hex::encode(secret));
        let line = format!("{label} {} {}\n", hex::encode(client_random), *secret);
        let line = Zeroizing::new(line);
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A failure to log must not fail the connection.
        let _ = file.write_all(line.as_bytes());
    }
}
