//! Sessions in files, shared by all processes that use the directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tessera::crypto::{Provider, wipe_stack_below};
use tessera::resume::ClientSession;
use tracing::warn;
use zeroize::Zeroizing;

use super::wrapping::{self, OVERHEAD, Wrapping};
use super::{SessionStore, is_fresh};

/// Keeps each session in a file of its own, below a directory per server.
///
/// Any number of processes may use the same directory: each session goes to one of them. A session's file is
/// gone, durably, before it is given out. Files are readable by their owner alone; they are secrets (see
/// [`ClientSession::export`]). What can't be read is removed with a warning.
///
/// # What deletion does not do
/// Unlinking a file makes sure that no process finds it again, also after a crash. It does not erase: the
/// blocks stay on the disk until something else is written there, and longer in snapshots of copy-on-write file
/// systems, in the spare blocks of SSDs and in backups. What then comes from such a place is as good as the
/// session:
///
/// - Of a session that was used, with forward-secret 0-RTT and one-time *public* keys: nothing of the flight, once
///   the server has taken its key. With one-time PSKs the flight opens: they are forward-secret only where
///   both ends delete, and want a store in memory, or a directory in memory (tmpfs) without swap.
/// - Replayable early data opens, and so does a whole connection of `psk_only_without_forward_secrecy`.
/// - Sessions that were never used speak as this client until their tickets expire.
///
/// [`open_wrapped`](Self::open_wrapped) keeps nothing on the disk that opens without a key from elsewhere.
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
    wrapping: Option<Wrapping>,
    /// How deep the stack is wiped after a session was read or written, in bytes.
    stack_depth: usize,
}

impl FileSessionStore {
    /// Opens a store, and makes its directory where there is none. Its files are not wrapped; those that are
    /// it removes.
    ///
    /// # Errors
    /// If the directory can't be made.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        make_private(&directory)?;
        warn_if_others_can_read(&directory);
        Ok(Self { directory, per_server: 8, wrapping: None, stack_depth: STACK_DEPTH })
    }

    /// Opens a store whose files are wrapped under a key, and makes its directory where there is none. It removes
    /// files that are wrapped under another key, and those that are not wrapped.
    ///
    /// The key is uniformly random, and lies where the directory's disk, backups and thieves don't reach: in a
    /// directory in memory that dies with the machine's boot (`$XDG_RUNTIME_DIR`), in a keyring or a TPM, in
    /// a credential of systemd's. When the last copy of the key is gone, so is all that the disk remembers of
    /// sessions. Until then deletion is what it is without a key for whoever has both.
    ///
    /// Each file has a key of its own, derived from this one, and is bound to its server: one that was changed, or
    /// moved to another server's directory, doesn't open. A deleted file that somebody puts back does.
    ///
    /// ```no_run
    /// use tessera_tokio::FileSessionStore;
    ///
    /// # fn example(key: &[u8; 32]) -> std::io::Result<()> {
    /// let store = FileSessionStore::open_wrapped("sessions", &tessera_aws_lc::provider(), key)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the directory can't be made, the key is all zeros, or the provider has no suite with 32-byte keys.
    pub fn open_wrapped(
        directory: impl Into<PathBuf>,
        provider: &Provider,
        key: &[u8; 32],
    ) -> io::Result<Self> {
        let wrapping = Wrapping::new(provider, key);
        let stack_depth = provider.stack_depth.derivation.max(STACK_DEPTH);
        wipe_stack_below(stack_depth);
        let wrapping = Some(wrapping?);
        Ok(Self { wrapping, stack_depth, ..Self::open(directory)? })
    }

    /// Keeps this many sessions per server; the oldest make room. Default: 8.
    pub fn with_limit(mut self, per_server: usize) -> Self {
        self.per_server = per_server;
        self
    }

    /// A frame of its own, which is wiped when it returns.
    #[inline(never)]
    fn try_put(&self, server_name: &str, session: &ClientSession) -> io::Result<()> {
        let server = encode(server_name).ok_or(ErrorKind::InvalidFilename)?;
        let directory = self.directory.join(&server);
        make_private(&directory)?;
        // The name holds the age, so that the newest session is found without opening all of them.
        let name = format!("{:016x}-{:016x}", session.state.issued_at, random());
        let unfinished = directory.join(format!("{name}{UNFINISHED}"));
        let mut bytes = session.export();
        if let Some(wrapping) = &self.wrapping {
            bytes = Zeroizing::new(wrapping.wrap(&server, &bytes)?);
        }
        let written = create_private(&unfinished)
            .and_then(|mut file| file.write_all(&bytes))
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

    /// A frame of its own, which is wiped when it returns.
    #[inline(never)]
    fn try_pop(&self, server_name: &str) -> io::Result<Option<ClientSession>> {
        let Some(server) = encode(server_name) else { return Ok(None) };
        let directory = self.directory.join(&server);
        for name in sessions(&directory)?.into_iter().rev() {
            let path = directory.join(name);
            let mut bytes = match take(&path) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(error) => {
                    warn!("{}: {error}; removed if that is possible", path.display());
                    let _ = fs::remove_file(&path);
                    continue;
                }
            };
            match wrapping::import(self.wrapping.as_ref(), &server, &mut bytes) {
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

    /// A frame of its own, which is wiped when it returns.
    #[inline(never)]
    fn try_retain(&self, keep: &dyn Fn(&ClientSession) -> bool) -> io::Result<()> {
        for server in fs::read_dir(&self.directory)?.flatten() {
            let name = server.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(SERVER)) else {
                continue;
            };
            let directory = server.path();
            for session in sessions(&directory)? {
                let path = directory.join(session);
                // Another process may be faster: then it is gone. What can't be read, `pop` removes.
                let Ok(mut bytes) = File::open(&path).and_then(|mut file| read(&mut file)) else {
                    continue;
                };
                let session = wrapping::import(self.wrapping.as_ref(), name, &mut bytes);
                if session.is_ok_and(|session| !keep(&session)) {
                    fs::remove_file(&path).or_else(|error| match error.kind() {
                        ErrorKind::NotFound => Ok(()),
                        _ => Err(error),
                    })?;
                }
            }
            sync(&directory)?;
        }
        Ok(())
    }
}

impl SessionStore for FileSessionStore {
    fn put(&self, server_name: &str, session: ClientSession) {
        let put = self.try_put(server_name, &session);
        drop(session);
        wipe_stack_below(self.stack_depth);
        if let Err(error) = put {
            warn!("{}: a session can't be kept: {error}", self.directory.display());
        }
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let popped = self.try_pop(server_name);
        wipe_stack_below(self.stack_depth);
        match popped {
            Ok(session) => session,
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                warn!("{}: no session can be had: {error}", self.directory.display());
                None
            }
        }
    }

    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        let retained = self.try_retain(keep);
        wipe_stack_below(self.stack_depth);
        if let Err(error) = retained {
            warn!("{}: sessions can't be removed: {error}", self.directory.display());
        }
    }
}

/// Reads a file that this process alone removed; `None` if another one was faster.
fn take(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let gone = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return gone(error),
    };
    // Of all who opened it one removes it: that is whose it is. Nothing remains to be cleaned up
    // if this process ends here.
    if let Err(error) = fs::remove_file(path) {
        return gone(error);
    }
    read(&mut file).map(Some)
}

fn read(file: &mut File) -> io::Result<Zeroizing<Vec<u8>>> {
    let len = file.metadata()?.len();
    if len > MAX_LEN {
        return Err(io::Error::new(ErrorKind::InvalidData, "longer than any session"));
    }
    // Read where it stays: a vector that grows leaves secrets in the memory that it gives back.
    let mut bytes = Zeroizing::new(vec![0; len as usize]);
    file.read_exact(&mut bytes)?;
    Ok(bytes)
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
    let mut encoded = String::from(SERVER);
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

/// How the directories of servers begin.
const SERVER: &str = "server-";

const SESSION: &str = ".session";
const UNFINISHED: &str = ".unfinished";

/// Unfinished files older than this belong to nobody.
const ABANDONED: Duration = Duration::from_secs(3600);

/// More than any session has: tickets are at most 64 KiB, and so are public keys.
const MAX_LEN: u64 = 160 * 1024 + OVERHEAD;

/// How deep the reading and writing of files goes, generously, in bytes; a provider may go deeper.
const STACK_DEPTH: usize = 16 * 1024;
