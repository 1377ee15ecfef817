//! Certificate caches kept in files.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use tessera::ServerConfig;
//! use tessera_kit::cached_certificates::KeptClients;
//! use tessera_kit::{ProgramError, SettingFile};
//!
//! # fn example(config: &mut ServerConfig) -> Result<(), ProgramError> {
//! let directory = SettingFile { setting: "--cache-certificates", path: Path::new("certificates") };
//! let clients = KeptClients::open(directory, &config.provider)?;
//! // Before compression, which then serves first contacts.
//! config.certificate_codecs.insert(0, clients.cache());
//! // From time to time, and when the last connection has ended:
//! clients.save()?;
//! # Ok(())
//! # }
//! ```

mod facts;
mod file;

use std::path::Path;
use std::sync::Arc;

use tessera::crypto::Provider;
use tessera_cache::{ClientCache, ImportError, Metrics, ProviderError, ServerCache};
use tessera_vault::FileLock;

pub use self::facts::{CacheContents, CacheSums, ClientSums};
use self::file::PrivateFile;
use crate::error::ProgramError;
use crate::setting::SettingFile;

/// A client's cache of servers' certificates, in the file `servers` of a directory.
///
/// Any number of processes may use the same directory, in turn or concurrently; each one's save merges with
/// the others'. When a process opens the file, it durably removes the tickets that its connections may send,
/// and no more, so that each is sent once. A process that ends without saving loses these, and what it
/// learned.
pub struct KeptServers {
    cache: Arc<ClientCache>,
    /// The file's content.
    kept: ClientCache,
    file: PrivateFile,
    found: CacheContents,
}

impl KeptServers {
    /// Opens the cache in this directory, below the one that a setting names; creates it if missing.
    /// Unreadable content is treated as absent: see [`found`](Self::found).
    ///
    /// `connections` is the number of concurrent connections to a server.
    ///
    /// # Errors
    /// Returns an error if another user can write there, or if the file can't be written.
    pub fn open(
        directory: SettingFile<'_>,
        below: &Path,
        provider: &Provider,
        connections: usize,
    ) -> Result<Self, ProgramError> {
        let cache = Arc::new(ClientCache::new(provider).map_err(not_made)?);
        let kept = ClientCache::new(provider).map_err(not_made)?;
        let file = PrivateFile::in_directory(directory, below, "servers", 0)?;
        // No other process may read the tickets before they are removed.
        let lock = file.lock()?;
        let found = read(&file, |bytes| kept.import(bytes))?;
        cache.take_over(&kept, connections);
        file.replace(|| kept.export())?;
        drop(lock);
        let found = CacheContents::new(&file, found, &cache.metrics());
        Ok(Self { cache, kept, file, found })
    }

    /// Returns the cache, for the configuration's codecs.
    #[must_use]
    pub fn cache(&self) -> Arc<ClientCache> {
        self.cache.clone()
    }

    /// Returns what the file contained.
    #[must_use]
    pub fn found(&self) -> &CacheContents {
        &self.found
    }

    /// Adds new entries to the file, for the next process. Call it after the last handshake of this process,
    /// which then holds no tickets any more; and again when the last connection is over, since a server may
    /// refuse this side's certificate, or send tickets, after the handshake.
    ///
    /// # Errors
    /// Returns an error if the file can't be read or written. Its earlier content is kept.
    pub fn save(&self) -> Result<(), ProgramError> {
        let save = || {
            let _lock = self.file.lock()?;
            // Another process may have changed it.
            self.kept.clear();
            read(&self.file, |bytes| self.kept.import(bytes))?;
            self.kept.take_over(&self.cache, usize::MAX);
            self.file.replace(|| self.kept.export())
        };
        save().map_err(not_saved)
    }
}

/// A server's cache of clients' certificates, in the file `clients` of a directory, which it owns while it
/// runs.
pub struct KeptClients {
    cache: Arc<ServerCache>,
    file: PrivateFile,
    found: CacheContents,
    _lock: FileLock,
}

impl KeptClients {
    /// Opens the cache in this directory; creates it if missing. Unreadable content is treated as absent: see
    /// [`found`](Self::found).
    ///
    /// # Errors
    /// Returns an error if another server owns the directory, another user can write there, or the file can't
    /// be written.
    pub fn open(directory: SettingFile<'_>, provider: &Provider) -> Result<Self, ProgramError> {
        Self::keep(directory, ServerCache::new(provider).map_err(not_made)?)
    }

    /// Opens the cache like [`open`](Self::open), with options such as a fleet's ring of ticket keys
    /// ([`ServerCache::with_fleet_tickets`]) or other bounds.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn keep(directory: SettingFile<'_>, cache: ServerCache) -> Result<Self, ProgramError> {
        let cache = Arc::new(cache);
        let bytes = cache.limits().bytes;
        let file = PrivateFile::in_directory(directory, Path::new(""), "clients", bytes)?;
        let lock = file.own()?;
        file.check_replaceable()?;
        let found = read(&file, |bytes| cache.import(bytes))?;
        let found = CacheContents::new(&file, found, &cache.metrics());
        Ok(Self { cache, file, found, _lock: lock })
    }

    /// Returns the cache, for the codecs of every configuration of the server.
    #[must_use]
    pub fn cache(&self) -> Arc<ServerCache> {
        self.cache.clone()
    }

    /// Returns what the file contained.
    #[must_use]
    pub fn found(&self) -> &CacheContents {
        &self.found
    }

    /// Writes the current content.
    ///
    /// # Errors
    /// Returns an error if it can't be written. The file's earlier content is kept.
    pub fn save(&self) -> Result<(), ProgramError> {
        self.file.replace(|| self.cache.export()).map_err(not_saved)
    }

    /// Returns what the cache has done since the process started.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.cache.metrics()
    }
}

/// The result of reading the file.
#[derive(Debug, Clone, Copy)]
enum Read {
    Nothing,
    Whole,
    Refused(ImportError),
}

fn read(
    file: &PrivateFile,
    import: impl FnOnce(&[u8]) -> Result<(), ImportError>,
) -> Result<Read, ProgramError> {
    let Some(bytes) = file.read()? else { return Ok(Read::Nothing) };
    Ok(match import(&bytes) {
        Ok(()) => Read::Whole,
        Err(error) => Read::Refused(error),
    })
}

fn not_made(error: ProviderError) -> ProgramError {
    ProgramError::failed("a cache of certificates", error)
}

/// Makes the error a failure at run time: by then the settings have proved right.
fn not_saved(error: ProgramError) -> ProgramError {
    ProgramError::Failed(error.to_string())
}
