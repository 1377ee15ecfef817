//! The program's own place for the key of a state: memory that survives the process but not a power-off.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use tessera_vault::StateKey;
use zeroize::Zeroizing;

use crate::error::ProgramError;
use crate::files::read_into;
use crate::hex;
use crate::volatile::{self, MemoryDirectory};

/// A file with the key of one directory, or with two while it changes. Locked, so that two servers starting
/// concurrently don't change it concurrently.
pub(super) struct KeyHome {
    path: PathBuf,
    /// The setting to use instead, for errors.
    setting: String,
    is_in_shared_memory: bool,
    _lock: File,
}

impl KeyHome {
    /// Finds the place for the key of this directory, and creates it.
    pub(super) fn open(state: &Path, setting: &str) -> Result<Self, ProgramError> {
        Self::check(state, setting)?;
        let directory = place(state, setting)?;
        let failed = |error| cannot_keep(&directory.path, setting, &error);
        match DirBuilder::new().mode(0o700).create(&directory.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            _ => (),
        }
        check_directory(&directory, setting)?;
        let MemoryDirectory { path: directory, is_in_shared_memory } = directory;
        let failed = |error| cannot_keep(&directory, setting, &error);
        let path = directory.join(format!("state-{}.key", name_of(state)));
        let lock = private(OpenOptions::new().create(true)).open(path.with_extension("lock"));
        let lock = lock.and_then(|file| file.lock().map(|()| file)).map_err(failed)?;
        Ok(Self { path, setting: setting.to_owned(), is_in_shared_memory, _lock: lock })
    }

    /// Detects what would make [`open`](Self::open) fail, without creating anything.
    pub(super) fn check(state: &Path, setting: &str) -> Result<(), ProgramError> {
        let directory = place(state, setting)?;
        match directory.path.parent() {
            Some(parent) if fs::symlink_metadata(&directory.path).is_err() => {
                let failed = |error| cannot_keep(&directory.path, setting, &error);
                if !volatile::is_memory(parent).map_err(failed)? {
                    return Err(on_a_disk(&directory.path, setting));
                }
                access(parent, AccessFlags::W_OK).map_err(|error| failed(error.into()))
            }
            _ => check_directory(&directory, setting),
        }
    }

    /// Whether the place is lost with a container, although the machine was not rebooted.
    pub(super) fn ends_with_container(&self) -> bool {
        self.is_in_shared_memory
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stored keys, the newest first.
    pub(super) fn keys(&self) -> Result<Vec<StateKey>, ProgramError> {
        let failed = |error: io::Error| cannot_keep(&self.path, &self.setting, &error);
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(failed)?,
        };
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
        let mut bytes = Zeroizing::new([0; (MOST_KEYS + 1) * StateKey::LEN]);
        let len = read_into(&mut file, &mut *bytes).map_err(failed)?;
        let whole = len % StateKey::LEN == 0 && (1..=MOST_KEYS).contains(&(len / StateKey::LEN));
        if mode & 0o077 != 0 || !whole {
            return Err(ProgramError::settings(format!(
                "{0}: no longer a key of this program (mode {mode:04o}, {len} bytes); to start afresh, which costs \
                 each client a full handshake, remove it and the files that the next message names: rm -f {0}",
                self.path.display()
            )));
        }
        let keys = bytes.chunks_exact(StateKey::LEN).take(len / StateKey::LEN);
        Ok(keys
            .map(|bytes| {
                let mut key = Box::new(Zeroizing::new([0; StateKey::LEN]));
                key.copy_from_slice(bytes);
                StateKey::new(key)
            })
            .collect())
    }

    /// Replaces the stored keys.
    pub(super) fn keep(&self, keys: &[StateKey]) -> Result<(), ProgramError> {
        let new = self.path.with_extension("new");
        let write = || {
            let mut file = private(OpenOptions::new().create(true)).truncate(true).open(&new)?;
            keys.iter().try_for_each(|key| file.write_all(key.expose()))?;
            fs::rename(&new, &self.path)
        };
        write().map_err(|error| cannot_keep(&self.path, &self.setting, &error))
    }

    /// Removes keys under which nothing was sealed. If that fails, the next start finds and reports them.
    pub(super) fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the directory for the keys of states.
fn place(state: &Path, setting: &str) -> Result<MemoryDirectory, ProgramError> {
    volatile::memory_directory("tessera").ok_or_else(|| {
        ProgramError::settings(format!(
            "{}: no place for its key: neither $RUNTIME_DIRECTORY nor $XDG_RUNTIME_DIR nor /dev/shm is one; set one \
             of the variables to a directory on a tmpfs, or give a key with {setting}",
            state.display()
        ))
    })
}

fn check_directory(directory: &MemoryDirectory, setting: &str) -> Result<(), ProgramError> {
    let path = &directory.path;
    let failed = |error| cannot_keep(path, setting, &error);
    if let Some(flaw) = directory.flaw().map_err(failed)? {
        let what =
            format!("{}: the key of the state would be kept there, but {flaw}", path.display());
        return Err(ProgramError::settings(what));
    }
    if !volatile::is_memory(path).map_err(failed)? {
        return Err(on_a_disk(path, setting));
    }
    Ok(())
}

fn on_a_disk(directory: &Path, setting: &str) -> ProgramError {
    ProgramError::settings(format!(
        "{}: the key of the state would be on a disk there, readable for anyone who gets the disk; set \
         $RUNTIME_DIRECTORY to a directory on a tmpfs, or give a key with {setting}",
        directory.display()
    ))
}

/// The new one and the previous one.
const MOST_KEYS: usize = 2;

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.write(true).mode(0o600)
}

fn cannot_keep(path: &Path, setting: &str, error: &io::Error) -> ProgramError {
    ProgramError::settings(format!(
        "{}: {error}; the key of the state belongs there: fix this, or give a key with {setting}",
        path.display()
    ))
}

/// Returns a name that is unique to the directory.
fn name_of(directory: &Path) -> String {
    let absolute = fs::canonicalize(directory).or_else(|_| {
        // It doesn't exist yet.
        let absolute = std::path::absolute(directory)?;
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Ok(absolute);
        };
        fs::canonicalize(parent).map(|parent| parent.join(name))
    });
    let path = absolute.unwrap_or_else(|_: io::Error| directory.into());
    let provider = tessera_aws_lc::provider();
    let hash = provider.suites.first().map(|suite| suite.hash.hash(path.as_os_str().as_bytes()));
    let hash = hash.as_ref().map_or(&[][..], |hash| hash.as_ref());
    hex::encode(hash.get(..8).unwrap_or_default())
}

/// Which boot of which machine a state's key belongs to, and where it was, for when the key is gone.
pub(super) struct Note {
    boot: String,
    pub(super) key: PathBuf,
}

/// The note's file in the state's directory.
pub(super) const NOTE: &str = "key-was";

impl Note {
    pub(super) fn of_now(home: &KeyHome) -> Self {
        Self { boot: boot().unwrap_or_default(), key: home.path.clone() }
    }

    pub(super) fn read(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(NOTE)).ok()?;
        let boot = text.lines().find_map(|line| line.strip_prefix("boot "))?;
        let key = text.lines().find_map(|line| line.strip_prefix("key "))?;
        Some(Self { boot: boot.to_owned(), key: key.into() })
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), ProgramError> {
        let path = directory.join(NOTE);
        fs::write(&path, format!("boot {}\nkey {}\n", self.boot, self.key.display()))
            .map_err(|error| ProgramError::failed(path.display(), error))
    }

    /// Whether the power has been on all the time, as far as known.
    pub(super) fn is_of_this_boot(&self) -> bool {
        boot().is_none_or(|boot| boot == self.boot)
    }
}

/// Returns an id that changes at each boot (random(4)).
fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}
