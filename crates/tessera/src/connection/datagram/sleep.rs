//! Associations that sleep: both sides' secrets and counters stay, and keys are derived again.

use super::Association;
use crate::handshake::Handshake;
use crate::time::Time;

impl<H: Handshake> Association<H> {
    /// Drops the keys of records, which are derived again from the secrets when the next record comes or goes, and all
    /// unused memory; returns whether it did. An association doesn't sleep before its handshake is complete, nor while
    /// messages wait to be acknowledged, nor until ten seconds after the first record under new keys of the peer, which may
    /// still send under the earlier ones.
    ///
    /// To wake costs two derivations of keys, also for a record that turns out to be forged.
    pub fn sleep(&mut self, now: Time) -> bool {
        self.core.is_complete() && self.datagrams.sleep(now.monotonic)
    }

    /// Derives the keys again.
    pub(super) fn wake(&mut self) {
        if self
            .datagrams
            .incoming
            .epochs
            .sleeping()
            .or(self.datagrams.outgoing.sleeping())
            .is_some()
        {
            self.derive_again();
            self.core.wipe_derivation();
        }
    }

    /// In its own frame, which is wiped.
    #[inline(never)]
    fn derive_again(&mut self) {
        let Self { core, datagrams, .. } = self;
        datagrams.wake(|direction| core.traffic(direction));
    }
}
