//! Sessions in files, shared by all processes that use the directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tessera::crypto::{Depth, Provider, wipe_stack_below};
use tessera::resume::ClientSession;
use tracing::warn;
use zeroize::Zeroizing;

use super::wrapping::{self, OVERHEAD, Wrapping};
use super::{SessionStore, is_fresh};

/// Keeps each session in its own file, below a directory per server.
///
/// Any number of processes may use the same directory: each session goes to one of them. A session's file is
/// removed, durably, before the session is returned. Files are secrets, readable by their owner alone (see
/// [`ClientSession::export`]). Unreadable files are removed with a warning.
///
/// # What deletion does not do
/// Unlinking a file ensures that no process finds it again, even after a crash. It does not erase: the blocks
/// stay on the disk until they are overwritten, and longer in snapshots of copy-on-write file systems, in the
/// spare blocks of SSDs and in backups. A session recovered from there is as good as the original:
///
/// - A used session, with forward-secret 0-RTT and one-time *public* keys, reveals nothing of the flight once
///   the server has taken its key. With one-time PSKs it opens the flight: these are forward-secret only if
///   both ends delete, and need a store in memory, or a directory in memory (tmpfs) without swap.
/// - It opens replayable early data, and a whole connection of `psk_only_without_forward_secrecy`.
/// - An unused session can impersonate this client until its ticket expires.
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
    /// How many bytes of stack are wiped after a session was read or written.
    stack_depth: Depth,
}

impl FileSessionStore {
    /// Opens a store, and creates its directory if missing. Its files are not wrapped; wrapped files are
    /// removed.
    ///
    /// # Errors
    /// Returns an error if the directory can't be created.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        make_private(&directory)?;
        warn_if_others_can_read(&directory);
        Ok(Self { directory, per_server: 8, wrapping: None, stack_depth: STACK_DEPTH })
    }

    /// Opens a store whose files are wrapped under a key, and creates its directory if missing. Files that
    /// are not wrapped, or wrapped under another key, are removed.
    ///
    /// The key must be uniformly random, and out of reach of the directory's disk, backups and thieves: in a
    /// directory in memory that lasts until reboot (`$XDG_RUNTIME_DIR`), in a keyring or a TPM, in a systemd
    /// credential. When the last copy of the key is gone, so are all sessions that the disk still remembers.
    /// Until then, against an attacker with both key and disk, deletion is worth as much as without a key.
    ///
    /// Each file has its own key, derived from this one, and is bound to its server: a file that was changed,
    /// or moved to another server's directory, doesn't open. A deleted file that is put back does.
    /// moved to another server's directory, doesn't open. A deleted file that is restored does.
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
    /// Returns an error if the directory can't be created, the key is all zeros, or the provider has no suite
    /// with 32-byte keys.
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

    /// Sets how many sessions are kept per server; the oldest are evicted. Default: 8.
    pub fn with_limit(mut self, per_server: usize) -> Self {
        self.per_server = per_server;
        self
    }

    /// A separate stack frame, wiped after it returns.
    #[inline(never)]
    fn try_put(&self, server_name: &str, session: &ClientSession) -> io::Result<()> {
        let server = encode(server_name).ok_or(ErrorKind::InvalidFilename)?;
        let directory = self.directory.join(&server);
        make_private(&directory)?;
        // The name holds the age: finding the newest session needs no file to be opened.
        let name = format!("{:016x}-{:016x}", session.state.issued_at, random());
        let unfinished = directory.join(format!("{name}{UNFINISHED}"));
        let mut bytes = session.export();
        if let Some(wrapping) = &self.wrapping {
            bytes = Zeroizing::new(wrapping.wrap(&server, &bytes)?);
        }
        let written = create_private(&unfinished)
            .and_then(|mut file| file.write_all(&bytes))
            // Readers must not see half a session.
            .and_then(|()| fs::rename(&unfinished, directory.join(format!("{name}{SESSION}"))));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.make_room(&directory)
    }

    /// Removes the oldest sessions beyond the limit, and files that a crash left unfinished.
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

    /// A separate stack frame, wiped after it returns.
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
                    warn!("{}: {error}; removed if possible", path.display());
                    let _ = fs::remove_file(&path);
                    continue;
                }
            };
            match wrapping::import(self.wrapping.as_ref(), &server, &mut bytes) {
                Ok(session) if is_fresh(&session) => {
                    // The ticket leaves the disk before it is sent: it must not reappear after a power
                    // failure.
                    sync(&directory)?;
                    return Ok(Some(session));
                }
                Ok(_) => warn!("{}: the session has expired; removed", path.display()),
                Err(error) => warn!("{}: {error}; removed", path.display()),
            }
        }
        Ok(None)
    }

    /// A separate stack frame, wiped after it returns.
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
                // Another process may have removed it. `pop` removes unreadable ones.
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
            warn!("{}: can't store a session: {error}", self.directory.display());
        }
    }

    fn pop(&self, server_name: &str) -> Option<ClientSession> {
        let popped = self.try_pop(server_name);
        wipe_stack_below(self.stack_depth);
        match popped {
            Ok(session) => session,
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                warn!("{}: can't read a session: {error}", self.directory.display());
                None
            }
        }
    }

    fn retain(&self, keep: &dyn Fn(&ClientSession) -> bool) {
        let retained = self.try_retain(keep);
        wipe_stack_below(self.stack_depth);
        if let Err(error) = retained {
            warn!("{}: can't remove sessions: {error}", self.directory.display());
        }
    }
}

/// Reads a file that this process alone removed; `None` if another process was faster.
fn take(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let gone = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Ok(None),
        _ => Err(error),
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return gone(error),
    };
    // Of all processes that opened it, the one that removes it owns it. Nothing is left to clean up if this
    // process ends here.
    if let Err(error) = fs::remove_file(path) {
        return gone(error);
    }
    read(&mut file).map(Some)
}

fn read(file: &mut File) -> io::Result<Zeroizing<Vec<u8>>> {
    let len = file.metadata()?.len();
    if len > MAX_LEN {
        return Err(io::Error::new(ErrorKind::InvalidData, "too long for a session"));
    }
    // Read in place: a vector that grows leaves secrets in the memory it frees.
    let mut bytes = Zeroizing::new(vec![0; len as usize]);
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns the names of the finished sessions, the oldest first.
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

/// Encodes a server name as a directory name: injective, and never a path to elsewhere. Letters, digits,
/// hyphens and dots stand for themselves, every other byte for `%` and two digits. Names are case-insensitive
/// (RFC 6066 §3). `None` if it would be too long.
fn encode(server_name: &str) -> Option<String> {
    let mut encoded = String::from(SERVER);
    for byte in server_name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' => encoded.push(byte.into()),
            b'A'..=b'Z' => encoded.push(byte.to_ascii_lowercase().into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    // Windows ignores trailing dots.
    if encoded.ends_with('.') {
        encoded.pop();
        encoded.push_str("%2E");
    }
    (encoded.len() <= 255).then_some(encoded)
}

/// Returns a random number, which need not be secret: files are never overwritten.
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
        warn!("{}: others may enter this directory, which holds secrets", directory.display());
    }
}

#[cfg(not(unix))]
fn warn_if_others_can_read(_: &Path) {}

/// Makes the removal of files from a directory durable.
#[cfg(unix)]
fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Does nothing: where directories can't be synchronised, the file system's journal must suffice.
#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Prefix of the servers' directories.
const SERVER: &str = "server-";

const SESSION: &str = ".session";
const UNFINISHED: &str = ".unfinished";

/// Unfinished files older than this are abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// More than any session's size: tickets are at most 64 KiB, and so are public keys.
const MAX_LEN: u64 = 160 * 1024 + OVERHEAD;

/// Generous bound on the stack used to read and write files, in bytes; a provider may go deeper.
const STACK_DEPTH: Depth = Depth::of::<{ 16 * 1024 }>();
