//! The application's store: the counter, and which increments are in it.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Transaction};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, Receipt, Receipts, SettleReceipt, TakePurpose, TakeSecret, Vault,
};

/// The counter, in SQLite.
pub struct Journal(Mutex<Connection>);

impl Journal {
    /// Opens the store, which outlives the server.
    pub fn open(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        // Durability over a power loss is up to SQLite, and not part of this example; an application keeps the default
        // of `synchronous`.
        connection.execute_batch(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
             CREATE TABLE IF NOT EXISTS done (key BLOB PRIMARY KEY) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), value INTEGER);
             INSERT OR IGNORE INTO counter VALUES (1, 0);",
        )?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Executes the effect, unless that was already done under this key. The key and the effect are written in one
    /// transaction: "exactly once" needs no more.
    pub fn once<E: From<rusqlite::Error>>(
        &self,
        key: &FlightHandle,
        effect: impl FnOnce(&Transaction<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut connection = self.lock();
        // A return before the commit rolls back.
        let transaction = connection.transaction()?;
        if mark_done(&transaction, key)? {
            effect(&transaction)?;
        }
        Ok(transaction.commit()?)
    }

    /// Whether the increment of this key is in the counter.
    pub fn is_done(&self, key: &FlightHandle) -> rusqlite::Result<bool> {
        let found = self
            .lock()
            .query_row("SELECT 1 FROM done WHERE key = ?1", [&key.0], |_| Ok(()))
            .optional()?;
        Ok(found.is_some())
    }

    /// Returns the value of the counter.
    pub fn value(&self) -> rusqlite::Result<u64> {
        self.lock().query_row("SELECT value FROM counter", [], |row| row.get(0))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records in the application's own transaction that this key's effect is part of it; `false` if that was done before.
pub fn mark_done(transaction: &Transaction<'_>, key: &FlightHandle) -> rusqlite::Result<bool> {
    Ok(transaction.execute("INSERT OR IGNORE INTO done VALUES (?1)", [&key.0])? == 1)
}

/// The effect.
pub fn increment(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("UPDATE counter SET value = value + 1", []).map(drop)
}

/// Answers clients that ask about a flight: the vault knows what was taken, the journal what was executed.
pub struct JournalReceipts {
    /// The vault of this life of the server.
    pub vault: Arc<dyn Vault>,
    /// The store of all its lives.
    pub journal: Arc<Journal>,
}

impl Receipts for JournalReceipts {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        let handle = question.handle;
        let question = TakeSecret::new(handle, TakePurpose::Burn, question.unix);
        // First the vault, then the journal, so that work done in between is found.
        let Reply::Now(taken) = self.vault.take(&question) else { return Reply::Later };
        Reply::Now(match self.journal.is_done(&handle) {
            Ok(done) => Receipt::of(&taken, done),
            Err(_) => Receipt::Unknown,
        })
    }
}
