//! The order of use in each share, and the size of each share.

use super::Store;
use crate::server::shares::NONE;

impl Store {
    pub(super) fn share_of_client(&self, client: u32) -> Option<u32> {
        Some(self.groups.get(self.records.get(client)?.group)?.share)
    }

    pub(super) fn charge_of(&mut self, client: u32, bytes: usize) {
        if let Some(share) = self.share_of_client(client) {
            self.charge(share, bytes);
        }
    }

    pub(super) fn charge(&mut self, share: u32, bytes: usize) {
        self.bytes += bytes;
        if let Some(share) = self.shares.get_mut(share) {
            share.bytes += bytes;
        }
    }

    pub(super) fn discharge_of(&mut self, client: u32, bytes: usize) {
        let share = self.share_of_client(client).and_then(|share| self.shares.get_mut(share));
        if let Some(share) = share {
            share.bytes -= bytes;
            self.bytes -= bytes;
        }
    }

    /// Makes a client the most recently used.
    pub(super) fn touch(&mut self, client: u32) {
        if let Some(share) = self.share_of_client(client) {
            self.unlink(client, share);
            self.link(client, share);
        }
    }

    pub(super) fn link(&mut self, client: u32, share: u32) {
        let Some(share) = self.shares.get_mut(share) else { return };
        let second = core::mem::replace(&mut share.newest, client);
        if share.oldest == NONE {
            share.oldest = client;
        }
        if let Some(record) = self.records.get_mut(client) {
            (record.newer, record.older) = (NONE, second);
        }
        if let Some(second) = self.records.get_mut(second) {
            second.newer = client;
        }
    }

    pub(super) fn unlink(&mut self, client: u32, share: u32) {
        let Some(record) = self.records.get(client) else { return };
        let (newer, older) = (record.newer, record.older);
        let Some(share) = self.shares.get_mut(share) else { return };
        match self.records.get_mut(newer) {
            Some(newer) => newer.older = older,
            None => share.newest = older,
        }
        match self.records.get_mut(older) {
            Some(older) => older.newer = newer,
            None => share.oldest = newer,
        }
    }
}
