//! Compares the secrets that both sides derived, by their key logs.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use tessera::KeyLog;

/// The lines of a key log, in OpenSSL's format too.
#[derive(Default)]
pub struct KeyLines(Mutex<Vec<String>>);

impl KeyLines {
    /// Returns the lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeyLog for KeyLines {
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]) {
        let line = format!("{label} {} {}", hex(client_random), hex(secret));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// Bytes in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string can't fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
