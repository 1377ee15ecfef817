//! Ring and vault of one server in one sealed directory.

mod associations;
mod content;
mod error;
mod key;
mod reset_key;
mod ring_file;
mod sealed_file;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::crypto::Provider;
use tessera::resume::Vault;
use zeroize::Zeroizing;

use crate::directory::OwnedDirectory;
use crate::keys::{RotatingRing, Rotation, TicketKey, WrappingKeys, WrappingPurpose};
use crate::memory::home::incarnation_in;
use crate::memory::{Limits, Mark, MemoryVault, RestoreOutcome, Witness, WitnessOutcome};
use crate::state::associations::Associations;
use crate::state::content::{check_directory, check_snapshot_version, remove_all};
use crate::state::key::wrapping_keys;
use crate::state::reset_key::ResetKeyBytes;
use crate::state::ring_file::{RingFile, read_ring};

pub use error::{StateError, StateProblem};
pub use key::StateKey;

/// What one server remembers between connections, in a directory that it owns: a self-rotating ring and a
/// vault of one-time keys. Both survive a clean restart; the ring survives a crash too.
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
/// The directory belongs on a local file system, and in no backup; its key belongs elsewhere, preferably on a
/// tmpfs. An attacker with both can impersonate the server's clients and, until the one-time keys are used,
/// read their early data. A destroyed key is gone from the file at once, and from the disk when its block is
/// overwritten or the directory's key is destroyed.
///
/// Restoring a directory from an earlier [`close`](Self::close), together with its key of that time, brings
/// taken one-time keys back: a flight may be accepted twice, and nothing in the directory shows it. If each
/// start uses a new key and destroys the old one, the restored directory doesn't open. A [`Witness`]
/// ([`open_witnessed`](Self::open_witnessed)) detects it.
///
/// | file | purpose |
/// |---|---|
/// | `lock`, `state`, `snapshot` | the vault's: see [`MemoryVault::open`] |
/// | `ring` | the ticket keys and the vault's life, sealed; written whenever a key is made or destroyed |
/// | `associations` | what [`close_with`](Self::close_with) handed over, sealed; unlinked before the next `open` returns |
/// | `reset-key` | the [key of resets](Self::reset_key), sealed; written at each start |
///
/// All methods block on disk I/O. So does, twice for each key, the ticket for which a key is made.
pub struct ServerState {
    ring: Arc<RotatingRing>,
    vault: Arc<MemoryVault>,
    /// Wraps snapshots.
    keys: WrappingKeys,
    provider: Provider,
    directory: Arc<OwnedDirectory>,
    reset_key: ResetKeyBytes,
    associations: Mutex<Result<Associations, StateError>>,
    previous_life: PreviousLife,
}

/// How a state is kept.
#[derive(Debug, Clone, Copy)]
pub struct StateOptions {
    /// Capacity of the vault.
    pub limits: Limits,
    /// How the ring rotates.
    pub rotation: Rotation,
}

/// A hundred thousand one-time keys, and the default rotation.
impl Default for StateOptions {
    fn default() -> Self {
        Self { limits: Limits::new(100_000), rotation: Rotation::default() }
    }
}

/// How the previous server ended, and therefore what was in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreviousLife {
    /// There was none, or its content was removed: clients of earlier servers start with full handshakes.
    None,
    /// It ended cleanly: its ticket keys were found, and this many unexpired one-time keys.
    Closed {
        /// Number of one-time keys.
        secrets: usize,
    },
    /// The directory is not as its witness knows it: it was restored, or is a copy, or was used without the
    /// witness. Its ticket keys are valid. Its one-time keys are gone, and the vault is a new one: clients
    /// resume, and earlier early data is refused, with the verdict `unknown`.
    RolledBack,
    /// It ended without [`ServerState::close`]: its ticket keys were found. Its one-time keys are gone:
    /// clients resume, and earlier early data is refused, with the verdict `lost` if the directory knows the
    /// life that the ticket is from.
    Crashed,
}

impl ServerState {
    /// Opens the state of a directory at `now` (since the Unix epoch), and creates both if missing. The
    /// directory is owned until the state, its ring and its vault are dropped, or the process ends.
    ///
    /// The first of `keys` seals, all open; existing content is sealed again under the first before this
    /// returns. So to replace a key, restart with the new and the old one, then destroy the old one. A
    /// snapshot of secrets is unlinked before this returns, for good.
    ///
    /// # Errors
    /// An invalid directory is left unchanged, and refused: see [`StateProblem`].
    pub fn open(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(dir, keys, provider, options, now, ExistingContent::AsItIs(None))
    }

    /// Opens the state like [`open`](Self::open), if `witness` confirms the directory's. One that was
    /// restored to an earlier state, or copied, is [`PreviousLife::RolledBack`]. So is one that was used
    /// without this witness, or whose server crashed between the updates of witness and directory.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open), and those of the witness.
    pub fn open_witnessed(
        dir: &Path,
        keys: &[StateKey],
        witness: Arc<dyn Witness>,
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(
            dir,
            keys,
            provider,
            options,
            now,
            ExistingContent::AsItIs(Some(witness)),
        )
    }

    /// Opens the state like [`open`](Self::open), for a directory whose content is useless, for example
    /// because its key is gone: the content is removed.
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open) that don't concern the content.
    pub fn open_afresh(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
    ) -> Result<Self, StateError> {
        Self::open_directory(dir, keys, provider, options, now, ExistingContent::Afresh)
    }

    fn open_directory(
        dir: &Path,
        keys: &[StateKey],
        provider: &Provider,
        options: StateOptions,
        now: Duration,
        begin: ExistingContent,
    ) -> Result<Self, StateError> {
        let failed = |file: &'static str| move |error| StateError::io(dir, file, error);
        check_directory(dir)?;
        let unusable = |error| StateError::new(dir, "", StateProblem::Key(error));
        let directory = Arc::new(OwnedDirectory::lock(dir).map_err(failed(""))?);
        let ring_keys = wrapping_keys(provider, WrappingPurpose::TicketKeys, keys);
        let ring_keys = ring_keys.map_err(unusable)?;
        let keys = wrapping_keys(provider, WrappingPurpose::Snapshot, keys).map_err(unusable)?;

        let (ring, witness) = match begin {
            ExistingContent::AsItIs(witness) => {
                (find_ring(&directory, &ring_keys)?, witness.map(reported))
            }
            ExistingContent::Afresh => (None, None),
        };
        // A directory of an earlier version has none.
        let reset_key = match &ring {
            Some(ring) => find_reset_key(&directory, &ring.life.vault, &ring_keys)?,
            None => None,
        };
        if ring.is_none() {
            remove_all(&directory).map_err(failed(""))?;
        } else {
            check_snapshot_version(&directory)?;
        }
        let is_new = ring.is_none();
        let earlier_vault = ring.as_ref().map(|ring| ring.life.vault);
        let tickets: Vec<TicketKey> = ring.map(|ring| ring.keys).unwrap_or_default();
        let limits = options.limits;
        let mut associations = Ok(Vec::new());
        let (vault, restored) = MemoryVault::open_owned(
            directory.clone(),
            witness,
            limits,
            provider,
            &keys,
            now,
            |handover| {
                let handover = handover.ok_or(StateProblem::Damaged)?;
                associations = associations::read(&directory, handover);
                Ok(())
            },
        )
        .map_err(failed("snapshot"))?;
        let missing = || StateError::new(dir, "state", StateProblem::Missing);
        let life = vault.incarnation().ok_or_else(missing)?;
        // A copy of a directory is another instance, which must have another key.
        let reset_key = reset_key.filter(|_| earlier_vault == Some(life.vault));
        let reset_key = reset_key::write(reset_key, &life.vault, &directory, &ring_keys, provider);
        let file = RingFile { directory: directory.clone(), keys: ring_keys, life };
        let write = Box::new(move |keys: &[&[u8]]| file.write(keys));
        let ring = RotatingRing::written(provider, options.rotation, tickets, write, now);
        ring.keep(now);
        let written = ring.write_now().map_err(failed("ring"));
        let reset_key = match (written, reset_key.map_err(failed(reset_key::NAME))) {
            (Ok(()), Ok(key)) => key,
            (Err(error), _) | (_, Err(error)) => {
                // The snapshot's content exists nowhere else. The first failure is reported.
                let _ = vault.close_with(provider, &keys, now, |handover| {
                    let _ =
                        associations::write(associations.unwrap_or_default(), &directory, handover);
                });
                return Err(error);
            }
        };
        let previous_life = match restored {
            _ if is_new => PreviousLife::None,
            RestoreOutcome::RolledBack => PreviousLife::RolledBack,
            RestoreOutcome::Secrets(secrets) => PreviousLife::Closed { secrets },
            _ => PreviousLife::Crashed,
        };
        let (ring, vault) = (Arc::new(ring), Arc::new(vault));
        let associations = Mutex::new(associations);
        let provider = *provider;
        Ok(Self { ring, vault, keys, provider, directory, reset_key, associations, previous_life })
    }

    /// Returns a key that stays the same as long as the directory, through crashes too, for
    /// `tessera_endpoint::ResetKey`: with it a server informs DTLS clients that it has lost their associations. No
    /// two instances may have the same, so a directory that its witness doesn't recognise gets a new one.
    pub fn reset_key(&self) -> &[u8; 32] {
        &self.reset_key
    }

    /// Returns the ring, for [`ServerConfig::tickets`](tessera::ServerConfig::tickets).
    pub fn ring(&self) -> Arc<RotatingRing> {
        self.ring.clone()
    }

    /// Returns the vault, for a [`OneTimeKeyGuard`](tessera::resume::OneTimeKeyGuard).
    pub fn vault(&self) -> Arc<MemoryVault> {
        self.vault.clone()
    }

    /// Returns how the previous server ended, and therefore what was in the directory.
    pub fn previous_life(&self) -> PreviousLife {
        self.previous_life
    }

    /// Takes what the previous server handed over with [`close_with`](Self::close_with), once. Its file is gone for good, and
    /// an earlier copy of it is none of this directory's.
    ///
    /// # Errors
    /// Returns an error if the file was damaged, of another version, or none of this directory's: its associations are
    /// lost, and nothing else is.
    pub fn take_associations(&self) -> Result<Vec<Zeroizing<Vec<u8>>>, StateError> {
        let mut found = self.associations.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *found, Ok(Vec::new()))
    }

    /// Does what is due at `now` (since the Unix epoch): makes the next ticket key, destroys expired ticket
    /// keys and one-time secrets. The ring does its part by itself at each ticket; calling this from a timer
    /// keeps the disk I/O out of handshakes, and destroys expired keys in time if there is no traffic.
    ///
    /// # Errors
    /// Returns an error if the keys could not be written. The server can continue: new keys are used, but a
    /// restart won't find them; expired keys are still in the file. The write is retried.
    pub fn keep(&self, now: Duration) -> Result<(), StateError> {
        self.ring.keep(now);
        self.vault.purge(now);
        match self.ring.unwritten() {
            None => Ok(()),
            Some(error) => Err(StateError::io(self.directory.path(), "ring", error)),
        }
    }

    /// Hands everything to the next server at `now` (since the Unix epoch). From here on the vault takes and
    /// returns nothing, and the ring is no longer written: call it after the last connection. The directory
    /// stays owned until state, ring and vault are dropped.
    ///
    /// # Errors
    /// Returns the errors of the file system. One-time keys are lost then, and ticket keys if they could not
    /// be written before either.
    pub fn close(&self, now: Duration) -> Result<(), StateError> {
        self.close_with(Vec::new(), now)
    }

    /// As [`close`](Self::close), with the associations of DTLS clients as `tessera_endpoint::FrozenAssociation` has them,
    /// at most 256 MiB, which the next server [takes](Self::take_associations).
    ///
    /// Restoring the directory brings them back, as it does one-time keys: two servers would then use the same keys and
    /// nonces. So hand over only if an old copy can't be opened: with a key for each start, or a [`Witness`].
    ///
    /// # Errors
    /// As [`close`](Self::close); associations that can't be written are lost.
    pub fn close_with(
        &self,
        associations: Vec<Zeroizing<Vec<u8>>>,
        now: Duration,
    ) -> Result<(), StateError> {
        self.ring.keep(now);
        let failed =
            |file: &'static str| move |error| StateError::io(self.directory.path(), file, error);
        // If this server couldn't begin, the next one has those of the one before.
        let mut all = self.take_associations().unwrap_or_default();
        all.extend(associations);
        let mut handed_over = Ok(());
        let vault = self.vault.close_with(&self.provider, &self.keys, now, |handover| {
            handed_over = associations::write(all, &self.directory, handover);
        });
        self.ring.write_last().map_err(failed("ring"))?;
        vault.map_err(failed("snapshot"))?;
        handed_over.map_err(failed("associations"))
    }
}

/// How to treat an existing directory.
enum ExistingContent {
    /// Its content is valid, if this witness confirms it.
    AsItIs(Option<Arc<dyn Witness>>),
    /// Its content is removed.
    Afresh,
}

/// Wraps a witness so that its failures are not attributed to the directory.
fn reported(witness: Arc<dyn Witness>) -> Arc<dyn Witness> {
    struct Reported(Arc<dyn Witness>);

    impl Witness for Reported {
        fn replace(
            &self,
            vault: &[u8; 16],
            expected: Option<&Mark>,
            new: &Mark,
        ) -> io::Result<WitnessOutcome> {
            self.0
                .replace(vault, expected, new)
                .map_err(|error| StateProblem::Witness(error).into())
        }
    }

    Arc::new(Reported(witness))
}

/// Finds the previous ring, if any, and with it the vault.
fn find_ring(
    directory: &OwnedDirectory,
    keys: &WrappingKeys,
) -> Result<Option<ring_file::Ring>, StateError> {
    let wrong = |file, problem| StateError::new(directory.path(), file, problem);
    let failed = |file: &'static str| move |error| StateError::io(directory.path(), file, error);
    let life = incarnation_in(directory).map_err(failed("state"))?;
    let Some(bytes) = directory.read("ring").map_err(failed("ring"))? else {
        // A new directory gets its ring last.
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

/// Finds the key of resets, if there is one.
fn find_reset_key(
    directory: &OwnedDirectory,
    vault: &[u8; 16],
    keys: &WrappingKeys,
) -> Result<Option<ResetKeyBytes>, StateError> {
    let failed = |error| StateError::io(directory.path(), reset_key::NAME, error);
    let Some(bytes) = directory.read(reset_key::NAME).map_err(failed)? else { return Ok(None) };
    let read = reset_key::read(&bytes, vault, keys);
    read.map(Some).map_err(|problem| StateError::new(directory.path(), reset_key::NAME, problem))
}
