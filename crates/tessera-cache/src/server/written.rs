//! Export and import of a server's cache.

use alloc::vec::Vec;

use super::ServerCache;
use super::store::{ExportProgress, Store};
use crate::error::ImportError;
use crate::lock::let_others;
use crate::written::{CacheKind, frame, unframed};

impl ServerCache {
    /// Exports everything that survives the process, for [`import`](Self::import): the clients, their chains
    /// and tickets. Chains kept only as a hash are left out, since the verifier that knows them ends with the
    /// process, and so are clients known by public ids.
    ///
    /// A ticket that was used after the export is found once more after the import; an attacker that presents
    /// it learns that it was valid.
    ///
    /// The export is written in pieces, and the cache is in use in between: handshakes don't wait for all of
    /// it. Clients that come or leave meanwhile may be included or not.
    pub fn export(&self) -> Vec<u8> {
        frame(self.sha256, CacheKind::Clients, |out| {
            let begin = out.len();
            while !self.write(out) {
                out.truncate(begin);
            }
        })
    }

    /// Writes everything; `false` if another export was imported in between.
    fn write(&self, out: &mut Vec<u8>) -> bool {
        let store = &self.peers.store;
        let mut writing = store.lock().begin_to_write(out, self.peers.sealer.is_some());
        loop {
            let written = store.lock().write_more(&mut writing, out);
            match written {
                ExportProgress::InPart => let_others(),
                ExportProgress::AsAWhole => return true,
                ExportProgress::ReplacedInBetween => return false,
            }
        }
    }

    /// Replaces everything with an export.
    ///
    /// # Errors
    /// Returns an error if it can't be read as a whole. Nothing has changed then.
    pub fn import(&self, exported: &[u8]) -> Result<(), ImportError> {
        let (version, reader) = unframed(self.sha256, CacheKind::Clients, exported)?;
        let limits = self.peers.store.lock().limits;
        let read = Store::read(limits, version, reader).ok_or(ImportError::Damaged)?;
        // The old content is dropped outside the lock.
        let _before = self.peers.store.lock().replace(read);
        Ok(())
    }
}
