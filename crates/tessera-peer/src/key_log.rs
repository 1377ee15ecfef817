//! The key log in a file (RFC 9850): what Wireshark reads.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tessera::{KeyLog, Zeroizing};

use crate::error::PeerError;
use crate::hex;

/// Appends the secrets of connections to a file that only its owner can read.
pub(crate) struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    pub(crate) fn open(path: &Path) -> Result<Self, PeerError> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path);
        file.map(|file| Self(Mutex::new(file)))
            .map_err(|error| PeerError::output(path, "--key-log", &error))
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let secret = Zeroizing::new(hex::encode(secret));
        let line = format!("{label} {} {}\n", hex::encode(client_random), *secret);
        let line = Zeroizing::new(line);
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection doesn't fail because nobody can watch it.
        let _ = file.write_all(line.as_bytes());
    }
}
