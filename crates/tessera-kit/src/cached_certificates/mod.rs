//! Caches of certificates that are kept in files.
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

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tessera::crypto::Provider;
use tessera_cache::{ClientCache, Metrics, NotImported, NotMade, ServerCache};

pub use self::facts::{CacheFound, CacheSums, ClientSums};
use self::file::PrivateFile;
use crate::error::ProgramError;
use crate::setting::SettingFile;

/// What a client remembers of servers, in the file `servers` of a directory.
///
/// Any number of processes may use the same directory, one after the other or at a time, and what each of them
/// saves is added to what the others did. Tickets leave the file, durably, when a process opens it, so that each is
/// sent once: those that its connections may send, and no more. A process that ends without saving has lost
/// these, and what it learned.
pub struct KeptServers {
    cache: Arc<ClientCache>,
    /// What the file has.
    kept: ClientCache,
    file: PrivateFile,
    found: CacheFound,
}

impl KeptServers {
    /// Opens what is kept in this directory, below the one that a setting names, which is made where there is
    /// none. What can't be read is as if it weren't there: see [`found`](Self::found).
    ///
    /// There are going to be so many `connections` to a server at a time.
    ///
    /// # Errors
    /// If another user can write there, or it can't be written.
    pub fn open(
        directory: SettingFile<'_>,
        below: &Path,
        provider: &Provider,
        connections: usize,
    ) -> Result<Self, ProgramError> {
        let cache = Arc::new(ClientCache::new(provider).map_err(not_made)?);
        let kept = ClientCache::new(provider).map_err(not_made)?;
        let file = PrivateFile::in_directory(directory, below, "servers", 0)?;
        // Nobody else reads the tickets before they are gone.
        let lock = file.lock()?;
        let found = read(&file, |bytes| kept.import(bytes))?;
        cache.take_over(&kept, connections);
        file.replace(|| kept.export())?;
        drop(lock);
        let found = CacheFound::new(&file, found, &cache.metrics());
        Ok(Self { cache, kept, file, found })
    }

    /// For the configuration's codecs.
    #[must_use]
    pub fn cache(&self) -> Arc<ClientCache> {
        self.cache.clone()
    }

    /// What was there.
    #[must_use]
    pub fn found(&self) -> &CacheFound {
        &self.found
    }

    /// Adds what is new to what is kept, for the next process. To be called after the last handshake of this one, which
    /// has no tickets any more then; and once more when the last connection is over, since a server may refuse this
    /// side's certificate, or give tickets, after the handshake.
    ///
    /// # Errors
    /// If it can't be read or written. What was kept before is kept.
    pub fn save(&self) -> Result<(), ProgramError> {
        let save = || {
            let _lock = self.file.lock()?;
            // By now it may be another process's.
            self.kept.clear();
            read(&self.file, |bytes| self.kept.import(bytes))?;
            self.kept.take_over(&self.cache, usize::MAX);
            self.file.replace(|| self.kept.export())
        };
        save().map_err(not_saved)
    }
}

/// What a server remembers of clients, in the file `clients` of a directory, which it owns while it runs.
pub struct KeptClients {
    cache: Arc<ServerCache>,
    file: PrivateFile,
    found: CacheFound,
    _lock: File,
}

impl KeptClients {
    /// Opens what is kept in this directory, which is made where there is none. What can't be read is as if it
    /// weren't there: see [`found`](Self::found).
    ///
    /// # Errors
    /// If another server owns the directory, another user can write there, or it can't be written.
    pub fn open(directory: SettingFile<'_>, provider: &Provider) -> Result<Self, ProgramError> {
        Self::keep(directory, ServerCache::new(provider).map_err(not_made)?)
    }

    /// The same with a cache that has options, such as a fleet's ring of ticket keys
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
        let found = CacheFound::new(&file, found, &cache.metrics());
        Ok(Self { cache, file, found, _lock: lock })
    }

    /// For the configuration's codecs: the same one in every configuration of the server.
    #[must_use]
    pub fn cache(&self) -> Arc<ServerCache> {
        self.cache.clone()
    }

    /// What was there.
    #[must_use]
    pub fn found(&self) -> &CacheFound {
        &self.found
    }

    /// Writes what is known now.
    ///
    /// # Errors
    /// If it can't be written. What was kept before is kept.
    pub fn save(&self) -> Result<(), ProgramError> {
        self.file.replace(|| self.cache.export()).map_err(not_saved)
    }

    /// What the cache did since the process began.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.cache.metrics()
    }
}

/// What became of what was kept.
#[derive(Debug, Clone, Copy)]
enum Read {
    Nothing,
    Whole,
    Refused(NotImported),
}

fn read(
    file: &PrivateFile,
    import: impl FnOnce(&[u8]) -> Result<(), NotImported>,
) -> Result<Read, ProgramError> {
    let Some(bytes) = file.read()? else { return Ok(Read::Nothing) };
    Ok(match import(&bytes) {
        Ok(()) => Read::Whole,
        Err(error) => Read::Refused(error),
    })
}

fn not_made(error: NotMade) -> ProgramError {
    ProgramError::failed("a cache of certificates", error)
}

/// By then the program has done its work: its settings were right.
fn not_saved(error: ProgramError) -> ProgramError {
    ProgramError::Failed(error.to_string())
}
