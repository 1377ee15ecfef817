//! A server's cache, written down.

use alloc::vec::Vec;

use super::ServerCache;
use crate::error::NotImported;
use crate::written::{Of, frame, unframed};

impl ServerCache {
    /// Everything that outlives the process, for [`import`](Self::import): which clients there are, their chains and
    /// tickets. Chains of which only the hash is kept are left out, since the verifier that knows them ends with
    /// the process, and so are clients that are known by public ids.
    ///
    /// A ticket that was used after the export is found once more after the import; whoever shows it learns that it
    /// was somebody's.
    pub fn export(&self) -> Vec<u8> {
        let store = self.peers.store.lock();
        frame(self.sha256, Of::Clients, |out| store.write(out, self.peers.sealer.is_some()))
    }

    /// Replaces everything with what was exported.
    ///
    /// # Errors
    /// If it can't be read as a whole. Nothing has changed then.
    pub fn import(&self, exported: &[u8]) -> Result<(), NotImported> {
        let (_, reader) = unframed(self.sha256, Of::Clients, exported)?;
        let mut store = self.peers.store.lock();
        *store = store.read(reader).ok_or(NotImported::Damaged)?;
        Ok(())
    }
}
