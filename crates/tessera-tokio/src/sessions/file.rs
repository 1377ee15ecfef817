//! Sessions in files, shared by all processes that use the directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use log::warn;
use tessera::resume::ClientSession;
use zeroize::Zeroizing;

use super::{SessionStore, is_fresh};

/// Keeps each session in a file of its own, below a directory per server.
///
/// Any number of processes may use the same directory: each session goes to one of them. A session
/// leaves the disk, durably, before it is given out. Files are readable by their owner alone; they
/// are secrets (see [`ClientSession::export`]). What can't be read is removed with a warning.
///
/// ```no_run
/// use std::sync::Arc;
/// use tessera_tokio::{Connector, FileSessionStore};
///
/// # fn example(config: tessera::ClientConfig) -> Result<(), Box<dyn std::error::Error>> {
/// let store = FileSessionStore::open("sessions")?;
/// let connector = Connector::new(config.checked()?).with_sessions(Arc::new(store));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileSessionStore {
    directory: PathBuf,
    per_server: usize,
}

impl FileSessionStore {
    /// Opens a store, and makes its directory where there is none.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        make_private(&directory)?;
        warn_if_others_can_read(&directory);
        Ok(Self { directory, per_server: 8 })
    }

    /// Keeps this many sessions per server; the oldest make room. Default: 8.
    pub fn with_limit(mut self, per_server: usize) -> Self {
        self.per_server = per_server;
        self
    }

    fn of_server(&self, server_name: &str) -> Option<PathBuf> {
        encode(server_name).map(|name| self.directory.join(name))
    }

    fn try_put(&self, server_name: &str, session: &ClientSession) -> io::Result<()> {
        let directory = self.of_server(server_name).ok_or(ErrorKind::InvalidFilename)?;
        make_private(&directory)?;
        // The name holds the age, so that the newest session is found without opening all of them.
        let name = format!("{:016x}-{:016x}", session.state.issued_at, random());
        let unfinished = directory.join(format!("{name}{UNFINISHED}"));
        let written = create_private(&unfinished)
            .and_then(|mut file| file.write_all(&session.export()))
            // Nobody sees half a session.
            .and_then(|()| fs::rename(&unfinished, directory.join(format!("{name}{SESSION}"))));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.make_room(&directory)
    }

    /// Removes the oldest sessions where there are too many, and what a crash left unfinished.
    fn make_room(&self, directory: &Path) -> io::Result<()> {
        let names = sessions(directory)?;
        for name in names.iter().take(names.len().saturating_sub(self.per_server)) {
            let _ = fs::remove_file(directory.join(name));
        }
        for entry in fs::read_dir(directory)?.flatten() {
            let is_unfinished = has_end(&entry.file_name(), UNFINISHED);
            if is_unfinished && age(&entry).is_some_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn try_pop(&self, server_name: &str) -> io::Result<Option<ClientSession>> {
        let Some(directory) = self.of_server(server_name) else { return Ok(None) };
        for name in sessions(&directory)?.into_iter().rev() {
            let path = directory.join(name);
            let bytes = match take(&path) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(error) => {
                    warn!("{}: {error}; removed if that is possible", path.display());
                    let _ = fs::remove_file(&path);
                    continue;
                }
            };
            match ClientSession::import(&bytes) {
                Ok(session) if is_fresh(&session) => {
                    // The ticket leaves the disk before it is sent: after a power failure it must
                    // not be there again.
                    sync(&directory)?;
                    return Ok(Some(session));
                }
                Ok(_) => warn!("{}: the session has expired; removed", path.display()),
                Err(error) => warn!("{}: {error}; removed", path.display()),
            }
        }
        Ok(None)
    }
}

impl SessionStore for FileSessionStore {
    fn put(&self, server_name: &str, session: ClientSession) {
        if let Err(error) = self.try_put(server_name, &session) {
            warn!("{}: a session can't be kept: {error}", self.directory.display());
        }
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        match self.try_pop(server_name) {
            Ok(session) => session,
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                warn!("{}: no session can be had: {error}", self.directory.display());
                None
            }
        }
    }
}

/// Reads a file that this process alone removed; `None` if another one was faster.
fn take(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let gone = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return gone(error),
    };
    // Of all who opened it one removes it: that is whose it is. Nothing remains to be cleaned up
    // if this process ends here.
    if let Err(error) = fs::remove_file(path) {
        return gone(error);
    }
    // Room for all of it: a vector that grows leaves secrets in the memory that it gives back.
    let len = file.metadata().map_or(MAX_LEN, |metadata| metadata.len().min(MAX_LEN));
    let mut bytes = Zeroizing::new(Vec::with_capacity(len as usize + 1));
    file.take(len).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The names of the finished sessions, the oldest first.
fn sessions(directory: &Path) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(directory)?.flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter(|name| has_end(name, SESSION)).collect();
    names.sort_unstable();
    Ok(names)
}

fn has_end(name: &OsStr, end: &str) -> bool {
    name.as_encoded_bytes().ends_with(end.as_bytes())
}

fn age(entry: &fs::DirEntry) -> Option<Duration> {
    let modified = entry.metadata().ok()?.modified().ok()?;
    SystemTime::now().duration_since(modified).ok()
}

/// A server name as the name of a directory: every name has its own, and none leads elsewhere.
/// Letters, digits, hyphens and dots stand for themselves, every other byte for `%` and two digits.
/// Names are compared without regard to case (RFC 6066 §3). `None` if it would be too long.
fn encode(server_name: &str) -> Option<String> {
    let mut encoded = String::from("server-");
    for byte in server_name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => encoded.push(byte.into()),
            b'A'..=b'Z' => encoded.push(byte.to_ascii_lowercase().into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    // Windows ignores dots at the end.
    if encoded.ends_with('.') {
        encoded.pop();
        encoded.push_str("%2E");
    }
    (encoded.len() <= 255).then_some(encoded)
}

/// Not secret, only different from others: files are made only where there is none.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn warn_if_others_can_read(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(directory).is_ok_and(|it| it.permissions().mode() & 0o077 != 0) {
        warn!("{}: others may enter this directory of secrets", directory.display());
    }
}

#[cfg(not(unix))]
fn warn_if_others_can_read(_: &Path) {}

/// Makes it durable that files are gone from a directory.
#[cfg(unix)]
fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Where directories can't be synchronised the file system's journal has to do.
#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

const SESSION: &str = ".session";
const UNFINISHED: &str = ".unfinished";

/// Unfinished files older than this belong to nobody.
const ABANDONED: Duration = Duration::from_secs(3600);

/// More than any session has: tickets are at most 64 KiB, and so are public keys.
const MAX_LEN: u64 = 160 * 1024;
