//! Servers that read their ticket keys from files: nghttpx, Apache Traffic Server, h2o, and programs that read them on
//! their own.
//!
//! The files are replaced; a command makes the server read them; a probe asks it for a ticket, whose first 16 bytes name
//! the key that sealed it. The probe is the acknowledgement. It takes the place of trust in an exit status: nghttpx, for
//! one, discards all keys if it can't read one of its files, goes on with a random one, and reports nothing to the program
//! that signalled it.
//!
//! Without a probe, the success of the command is the acknowledgement. Then the command must not end before the server has
//! read the files, and must fail if the server doesn't take them. A server that acknowledges too early costs its clients
//! full handshakes: their tickets don't open there.
//!
//! Tests run nghttpx. h2o 2.2.5 (tickets crossed between two through two rotations) and Apache Traffic Server 9.2.9 (it
//! sealed with the first key of the file, before and after a reload) were tried by hand, on 2026-11-25.
//!
//! # Servers with a single key
//!
//! There is no format for a server that holds one key: Apache httpd (`SSLSessionTicketKeyFile`, one file of 48 bytes) and
//! Node (`setTicketKeys`, 48 bytes). Such a server can't open tickets under the next key before that seals, nor under the
//! earlier key afterwards: each rotation would refuse the tickets of the whole pool. There are no two phases for it.
//! (Apache's `modules/ssl/ssl_engine_init.c` reads one key of 48 bytes; Node's `SecureContext::SetTicketKeys` in
//! `src/crypto/crypto_context.cc` copies one name, one HMAC key and one AES key.)

mod command;
mod format;
mod probe;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tessera_ring::{InstallRefused, Installation, Installer, RingKeys};
use tokio::sync::Mutex;
use tokio::time::sleep;
use zeroize::Zeroizing;

pub use command::ReloadCommand;
pub use format::{FileFormat, UnknownFormat};
pub use probe::Probe;

use super::{CHECK_EVERY, key_file};
use crate::keys::{Fillers, ServerKeySet, ServerKeys};

/// The contents of a file of keys.
type Contents = Zeroizing<Vec<u8>>;

/// A server with its ticket keys in files.
pub struct KeyFiles {
    parts: KeyFileParts,
    state: Mutex<State>,
}

/// What [`KeyFiles`] works with.
pub struct KeyFileParts {
    /// The files. With [`FileFormat::Binary`] at least three, in the order of the server's configuration; with fewer than
    /// the ring has keys, the oldest keys are left out, and their tickets cost full handshakes. Otherwise one.
    pub files: Vec<PathBuf>,
    /// How the server reads them.
    pub format: FileFormat,
    /// The keys of its domain, in a form that the format takes.
    pub keys: ServerKeys,
    /// Makes the server read its files. None: it watches them.
    pub command: Option<ReloadCommand>,
    /// Asks the server which key seals.
    pub probe: Option<Probe>,
}

/// A combination of settings that can't work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFilesError {
    /// The setting to change: `keys`, `key-length` or `command`.
    pub setting: &'static str,
    /// The reason.
    pub reason: String,
}

#[derive(Default)]
struct State {
    fillers: Fillers,
    /// What the server confirmed last.
    installed: Option<Vec<Contents>>,
}

/// The fewest files with one key each: the issuing key, the next one, and an earlier one.
const FEWEST: usize = 3;

/// The least time between two files that are distinguished by whole seconds, with some for a reload.
const ANOTHER_SECOND: Duration = Duration::from_secs(2);

impl KeyFiles {
    /// Creates the installer.
    ///
    /// # Errors
    /// If the number of files or the form of the keys doesn't fit the format, or if nothing would show that the server
    /// took the keys.
    pub fn new(parts: KeyFileParts) -> Result<Self, KeyFilesError> {
        let KeyFileParts { files, format, keys, command, probe } = &parts;
        let name = format.name();
        let problem = match (format, files.len()) {
            (FileFormat::Binary, ..FEWEST) => Some(format!(
                "the format `{name}` needs at least three files: for the issuing key, the next one, and an earlier one"
            )),
            (FileFormat::Binary, _) | (_, 1) => None,
            _ => Some(format!("the format `{name}` needs exactly one file")),
        };
        let wrong = |setting, reason| Err(KeyFilesError { setting, reason });
        if let Some(problem) = problem {
            return wrong("keys", problem);
        }
        if let Some(twice) = files.iter().enumerate().find(|(at, file)| files[..*at].contains(file))
        {
            return wrong("keys", format!("the file {} is named twice", twice.1.display()));
        }
        if !format.takes(keys.form()) {
            let length = keys.form().len();
            return wrong(
                "key-length",
                format!("the format `{name}` has no keys of {length} bytes"),
            );
        }
        if command.is_none() && probe.is_none() {
            let reason = "neither `command` nor `canary` is set: nothing would show that the server took the keys";
            return wrong("command", reason.to_owned());
        }
        Ok(Self { parts, state: Mutex::default() })
    }

    async fn follow(&self, ring: &RingKeys) -> Result<(), InstallRefused> {
        let mut state = self.state.lock().await;
        let keys = self.parts.keys.derive(ring, &mut state.fillers)?;
        let issues_until = ring.issuing.as_ref().map(|key| key.issues_until);
        let contents = self.contents(&keys, issues_until, &mut state.fillers)?;
        if state.installed.as_ref() == Some(&contents) && self.files_have(&contents) {
            return Ok(());
        }
        state.installed = None;
        let name = keys.issuing.first_chunk();
        // Before anything changes: does the issuing key alone show that the server read the files?
        let is_the_same = match (&self.parts.probe, name) {
            (Some(probe), Some(name)) => probe.finds(name).await,
            _ => false,
        };
        if self.parts.format.is_read_by_time() {
            self.wait_for_another_second().await;
        }
        for (path, contents) in self.parts.files.iter().zip(&contents) {
            write(path, contents)?;
        }
        if let Some(command) = &self.parts.command {
            command.run().await.map_err(InstallRefused)?;
        }
        if let (Some(probe), Some(name)) = (&self.parts.probe, name) {
            if is_the_same {
                // Other keys have changed, such as the next one, which no ticket names.
                sleep(probe.reads_within).await;
            }
            probe.find(name).await.map_err(InstallRefused)?;
        }
        state.installed = Some(contents);
        Ok(())
    }

    /// Returns the contents of the files, in their order.
    fn contents(
        &self,
        keys: &ServerKeySet,
        issues_until: Option<Duration>,
        fillers: &mut Fillers,
    ) -> Result<Vec<Contents>, InstallRefused> {
        Ok(match self.parts.format {
            FileFormat::Binary => {
                let count = self.parts.files.len();
                let mut contents: Vec<_> = keys.in_order().take(count).cloned().collect();
                let missing = count - contents.len();
                contents.extend_from_slice(self.parts.keys.fill(fillers, missing)?);
                contents
            }
            FileFormat::Concatenated => vec![format::concatenated(keys)],
            FileFormat::Base64 => vec![format::base64(keys)],
            FileFormat::H2o => vec![format::h2o(keys, issues_until)],
        })
    }

    /// Waits until a new file has another time than the current one, in whole seconds, and than the last reload had.
    async fn wait_for_another_second(&self) {
        let times =
            self.parts.files.iter().filter_map(|path| fs::metadata(path).ok()?.modified().ok());
        let age = times.max().map_or(ANOTHER_SECOND, |time| time.elapsed().unwrap_or_default());
        sleep(ANOTHER_SECOND.saturating_sub(age)).await;
    }

    fn files_have(&self, contents: &[Contents]) -> bool {
        self.parts.files.iter().zip(contents).all(|(path, contents)| {
            fs::read(path).map(Zeroizing::new).is_ok_and(|current| current == *contents)
        })
    }
}

impl Installer for KeyFiles {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        Box::pin(self.follow(keys))
    }

    fn check_every(&self) -> Option<Duration> {
        Some(CHECK_EVERY)
    }
}

impl fmt::Display for KeyFilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for KeyFilesError {}

fn write(path: &Path, contents: &[u8]) -> Result<(), InstallRefused> {
    key_file::replace(path, contents).map_err(|error| {
        InstallRefused(format!(
            "the file of ticket keys {} can't be written: {error}; check its directory, which only the sidecar may write \
             to",
            path.display()
        ))
    })
}
