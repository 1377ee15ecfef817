//! Ring and vault of one server in one sealed directory.

mod error;
mod key;
mod ring_file;

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::geteuid;
use tessera::crypto::Provider;
use tessera::resume::Vault;

use crate::directory::OwnedDirectory;
use crate::keys::{RotatingRing, Rotation, TicketKey, WrappingKeys, WrappingPurpose};
use crate::memory::home::incarnation_in;
use crate::memory::snapshot::MAGIC as SNAPSHOT_MAGIC;
use crate::memory::{Limits, Mark, MemoryVault, Restored, Witness, Witnessed};
use crate::state::key::wrapping_keys;
use crate::state::ring_file::{RingFile, read_ring};

pub use error::{StateError, StateProblem};
pub use key::StateKey;

/// What one server remembers between connections, in a directory that it owns: a ring that rotates itself
/// and a vault of one-time keys. Both survive a clean restart; the ring survives a crash too.
///
/// ```no_run
/// # use std::path::Path;
/// # use std::time::{SystemTime, UNIX_EPOCH};
/// use tessera::ServerConfig;
/// use tessera::resume::OneTimeKeyGuard;
/// use tessera_vault::{ServerState, StateKey, StateOptions};
///
/// # fn example(config: &mut ServerConfig, key: StateKey) -> Result<(), Box<dyn std::error::Error>> {
/// let provider = tessera_aws_lc::provider();
/// let now = || SystemTime::now().duration_since(UNIX_EPOCH);
/// let directory = Path::new("/var/lib/service/tls");
/// let state = ServerState::open(directory, &[key], &provider, StateOptions::default(), now()?)?;
/// config.tickets = Some(state.ring());
/// config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(state.vault()));
/// // ... serve, and when the last connection is through:
/// state.close(now()?)?;
/// # Ok(())
/// # }
/// ```
///
/// The directory belongs on a local file system, and in no backup; its key belongs elsewhere, best on a
/// tmpfs. Whoever has both can impersonate the server's clients and, until they are used, read their early
/// data. A destroyed key is gone from the file at once, and from the disk when its block is written anew or
/// the directory's key is destroyed.
///
/// A directory that is put back as it was after an earlier [`close`](Self::close), together with the key of
/// then, brings taken one-time keys back: a flight may be accepted twice, and nothing in the directory shows it.
/// With another key at each start, and the old one destroyed, it opens no more. With a [`Witness`]
/// ([`open_witnessed`](Self::open_witnessed)) it is noticed.
///
/// | file | what it is for |
/// |---|---|
/// | `lock`, `state`, `snapshot` | the vault's: see [`MemoryVault::open`] |
/// | `ring` | the ticket keys and the vault's life, sealed; written whenever a key comes or goes |
///
/// Everything here waits for the disk. So does, twice for each key, the ticket that a key is made for.
pub struct ServerState {
    ring: Arc<RotatingRing>,
    vault: Arc<MemoryVault>,
    /// Wraps snapshots.
    keys: WrappingKeys,
    provider: Provider,
    directory: Arc<OwnedDirectory>,
    previous_life: PreviousLife,
}

/// How a state is to be kept.
#[derive(Debug, Clone, Copy)]
pub struct StateOptions {
    /// How much the vault holds.
    pub limits: Limits,
    /// How the ring rotates.
    pub rotation: Rotation,
}

/// A hundred thousand one-time keys, and the rotation of every ring.
impl Default for StateOptions {
    fn default() -> Self {
        Self { limits: Limits::new(100_000), rotation: Rotation::default() }
    }
}

/// How the server before ended, and so what was in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreviousLife {
    /// There was none, or what it left was removed: clients of earlier servers begin with full handshakes.
    None,
    /// What a server had when it ended cleanly: its ticket keys, and this many one-time keys that have not
    /// expired.
    Closed {
        /// How many.
        secrets: usize,
    },
    /// The directory is not as its witness knows it: it was put back, or is a copy, or was used without the witness.
    /// The ticket keys in it count. Its one-time keys are gone, and the vault is a new one: clients resume, and early
    /// data of before is refused, with the verdict `unknown`.
    RolledBack,
    /// The ticket keys of a server that ended without [`ServerState::close`]. Its one-time keys are gone:
    /// clients resume, and early data of before is refused, with the verdict `lost` if the directory knows
    /// the life that the ticket is from.
    Crashed,
}

impl ServerState {
    /// Opens the state of a directory at `now` (since the Unix epoch), and makes both if they are not
    /// there. It is owned until the state, its ring and its vault are dropped, or the process ends.
    ///
    /// The first of `keys` seals, all open; what there was is sealed anew, under the first, before this
    /// returns. So a key is replaced at a restart by giving the new one and the old one, and destroying the
    /// old one afterwards. A snapshot of secrets is unlinked before this returns, for good.
    ///
    /// # Errors
    /// A directory that is not as it should be is left as it is, and refused: see [`StateProblem`].
    pub fn open(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(dir, keys, provider, options, now, Begin::AsItIs(None))
    }

    /// Like [`open`](Self::open), if `witness` knows the directory as it is. One that was put back as it was earlier,
    /// or copied, is [`PreviousLife::RolledBack`]. So is one that was used without this witness, or whose server
    /// crashed between the witness and the directory.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and those of the witness.
    pub fn open_witnessed(
        dir: &Path,
        keys: &[StateKey],
        witness: Arc<dyn Witness>,
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(dir, keys, provider, options, now, Begin::AsItIs(Some(witness)))
    }

    /// Like [`open`](Self::open) for a directory whose state is of no use any more, such as one whose key
    /// is gone: what there was is removed.
    ///
    /// # Errors
    /// Those of [`open`](Self::open) that are not of the content.
    pub fn open_afresh(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(dir, keys, provider, options, now, Begin::Afresh)
    }

    fn open_directory(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
        begin: Begin,
    ) -> Result<Self, StateError> {
        let failed = |file: &'static str| move |error| StateError::io(dir, file, error);
        check_directory(dir)?;
        let unusable = |error| StateError::new(dir, "", StateProblem::Key(error));
        let directory = Arc::new(OwnedDirectory::lock(dir).map_err(failed(""))?);
        let ring_keys = wrapping_keys(provider, WrappingPurpose::TicketKeys, keys);
        let ring_keys = ring_keys.map_err(unusable)?;
        let keys = wrapping_keys(provider, WrappingPurpose::Snapshot, keys).map_err(unusable)?;

        let (ring, witness) = match begin {
            Begin::AsItIs(witness) => (find_ring(&directory, &ring_keys)?, witness.map(reported)),
            Begin::Afresh => (None, None),
        };
        if ring.is_none() {
            remove_all(&directory).map_err(failed(""))?;
        } else {
            check_snapshot_version(&directory)?;
        }
        let is_new = ring.is_none();
        let tickets: Vec<TicketKey> = ring.map(|ring| ring.keys).unwrap_or_default();
        let limits = options.limits;
        let refuse = || Err(StateProblem::Damaged.into());
        let (vault, restored) = MemoryVault::open_owned(
            directory.clone(),
            witness,
            limits,
            provider,
            &keys,
            now,
            refuse,
        )
        .map_err(failed("snapshot"))?;
        let missing = || StateError::new(dir, "state", StateProblem::Missing);
        let life = vault.incarnation().ok_or_else(missing)?;
        let file = RingFile { directory: directory.clone(), keys: ring_keys, life };
        let write = Box::new(move |keys: &[&[u8]]| file.write(keys));
        let ring = RotatingRing::written(provider, options.rotation, tickets, write, now);
        ring.keep(now);
        if let Err(error) = ring.write_now() {
            // What was in the snapshot is nowhere else. The first failure is told.
            let _ = vault.close(provider, &keys, now);
            return Err(failed("ring")(error));
        }
        let previous_life = match restored {
            _ if is_new => PreviousLife::None,
            Restored::RolledBack => PreviousLife::RolledBack,
            Restored::Secrets(secrets) => PreviousLife::Closed { secrets },
            _ => PreviousLife::Crashed,
        };
        let (ring, vault) = (Arc::new(ring), Arc::new(vault));
        Ok(Self { ring, vault, keys, provider: *provider, directory, previous_life })
    }

    /// The ring, for [`ServerConfig::tickets`](tessera::ServerConfig::tickets).
    pub fn ring(&self) -> Arc<RotatingRing> {
        self.ring.clone()
    }

    /// The vault, for a [`OneTimeKeyGuard`](tessera::resume::OneTimeKeyGuard).
    pub fn vault(&self) -> Arc<MemoryVault> {
        self.vault.clone()
    }

    /// How the server before ended, and so what was in the directory.
    pub fn previous_life(&self) -> PreviousLife {
        self.previous_life
    }

    /// Does at `now` (since the Unix epoch) what is due: makes the next ticket key, destroys what has ended.
    /// The ring does so by itself at each ticket; from a timer it keeps that wait for the disk out of
    /// handshakes, and ended keys go in time where there is no traffic.
    ///
    /// # Errors
    /// If the keys could not be written. The server can go on: keys that were made are used, only a
    /// restart doesn't find them; and keys that have ended are still in the file. It is tried again.
    pub fn keep(&self, now: Duration) -> Result<(), StateError> {
        self.ring.keep(now);
        self.vault.purge(now);
        match self.ring.unwritten() {
            None => Ok(()),
            Some(error) => Err(StateError::io(self.directory.path(), "ring", error)),
        }
    }

    /// Hands everything to the next server at `now` (since the Unix epoch). From here on the vault takes
    /// nothing and gives nothing, and the ring is written no more: call it after the last connection.
    /// The directory stays owned until state, ring and vault are dropped.
    ///
    /// # Errors
    /// Those of the file system. One-time keys are lost then, and ticket keys if they could not be written
    /// before either.
    pub fn close(&self, now: Duration) -> Result<(), StateError> {
        self.ring.keep(now);
        let failed =
            |file: &'static str| move |error| StateError::io(self.directory.path(), file, error);
        let vault = self.vault.close(&self.provider, &self.keys, now).map_err(failed("snapshot"));
        self.ring.write_last().map_err(failed("ring"))?;
        vault
    }
}

/// What to make of a directory.
enum Begin {
    /// What is in it counts, if this witness knows it.
    AsItIs(Option<Arc<dyn Witness>>),
    /// What is in it is removed.
    Afresh,
}

/// A witness whose failures are its own, and not the directory's.
fn reported(witness: Arc<dyn Witness>) -> Arc<dyn Witness> {
    struct Reported(Arc<dyn Witness>);

    impl Witness for Reported {
        fn replace(
            &self,
            vault: &[u8; 16],
            expected: Option<&Mark>,
            new: &Mark,
        ) -> io::Result<Witnessed> {
            self.0
                .replace(vault, expected, new)
                .map_err(|error| StateProblem::Witness(error).into())
        }
    }

    Arc::new(Reported(witness))
}

/// The files of a state. `key-was` is for notes of whoever keeps its key, `certificate.pem` for a certificate of the
/// server's that belongs to no other directory.
const OURS: [&str; 11] = [
    "lock",
    "ring",
    "state",
    "snapshot",
    "key-was",
    "certificate.pem",
    "certificate.pem.new",
    "ring.new",
    "state.new",
    "snapshot.new",
    // Of a mount point.
    "lost+found",
];

/// Refuses directories in which others could put files, and those that are something else.
fn check_directory(dir: &Path) -> Result<(), StateError> {
    let failed = |error| StateError::io(dir, "", error);
    let metadata = match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(failed)?,
    };
    if !metadata.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    if metadata.uid() != geteuid().as_raw() {
        let problem = StateProblem::OwnedByAnother { owner: metadata.uid() };
        return Err(StateError::new(dir, "", problem));
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(StateError::new(dir, "", StateProblem::WritableByOthers { mode }));
    }
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !OURS.iter().any(|ours| name == *ours) {
            return Err(StateError::new(dir, "", StateProblem::HoldsOtherFiles));
        }
    }
    Ok(())
}

/// The ring that was left, if one was, and with it the vault.
fn find_ring(
    directory: &OwnedDirectory,
    keys: &WrappingKeys,
) -> Result<Option<ring_file::Ring>, StateError> {
    let wrong = |file, problem| StateError::new(directory.path(), file, problem);
    let failed = |file: &'static str| move |error| StateError::io(directory.path(), file, error);
    let life = incarnation_in(directory).map_err(failed("state"))?;
    let Some(bytes) = directory.read("ring").map_err(failed("ring"))? else {
        // The ring is written last when a directory is begun.
        let begun = life.is_none_or(|life| life.number == 0);
        let has_snapshot = directory.open("snapshot").map_err(failed("snapshot"))?.is_some();
        return match begun && !has_snapshot {
            true => Ok(None),
            false => Err(wrong("ring", StateProblem::Missing)),
        };
    };
    let ring = read_ring(&bytes, keys).map_err(|problem| wrong("ring", problem))?;
    match life {
        None => Err(wrong("state", StateProblem::Missing)),
        // A life that ended before it wrote the ring counts too.
        Some(life) if life.vault == ring.life.vault && life.number >= ring.life.number => {
            Ok(Some(ring))
        }
        Some(_) => Err(wrong("state", StateProblem::Damaged)),
    }
}

fn check_snapshot_version(directory: &OwnedDirectory) -> Result<(), StateError> {
    let failed = |error| StateError::io(directory.path(), "snapshot", error);
    let Some(mut file) = directory.open("snapshot").map_err(failed)? else { return Ok(()) };
    let mut magic = [0; SNAPSHOT_MAGIC.len()];
    if file.read_exact(&mut magic).is_err() {
        // It is found to be damaged when it is read.
        return Ok(());
    }
    match (magic.split_last(), SNAPSHOT_MAGIC.split_last()) {
        (Some((version, name)), Some((ours, known))) if name == known && version > ours => {
            let problem = StateProblem::Newer { version: *version };
            Err(StateError::new(directory.path(), "snapshot", problem))
        }
        _ => Ok(()),
    }
}

fn remove_all(directory: &OwnedDirectory) -> io::Result<()> {
    for name in ["ring", "snapshot", "state", "ring.new", "snapshot.new", "state.new"] {
        directory.remove(name)?;
    }
    directory.sync()
}
