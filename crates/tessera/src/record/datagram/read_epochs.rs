//! The epochs whose records open, and how long their keys stay (RFC 9147 §4.2.2, §4.5.3).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::protection::Protection;
use super::replay_window::ReplayWindow;
use crate::crypto::Suite;
use crate::schedule::KeptTrafficSecret;

/// The epochs with keys.
#[derive(Default)]
pub(crate) struct ReadEpochs {
    /// In ascending order.
    pub(super) all: Vec<ReadEpoch>,
    /// The epoch whose keys the peer was asked to replace, because of forgeries.
    pub(super) asked_in: u64,
}

pub(crate) struct ReadEpoch {
    pub(super) number: u64,
    pub(super) suite: &'static Suite,
    pub(super) keys: EpochKeys,
    pub(super) window: ReplayWindow,
    /// How many records didn't open.
    pub(super) forged: u64,
    /// When the keys are dropped.
    pub(super) until: Option<Duration>,
}

pub(crate) enum EpochKeys {
    Ready(Protection),
    /// Rarely needed, they are derived for the first record, and again after the association slept: once for all records
    /// that anyone forges meanwhile.
    Derived {
        secret: Box<KeptTrafficSecret>,
        keys: Option<Box<Protection>>,
    },
    /// The association sleeps.
    Asleep,
}

impl ReadEpochs {
    /// Opens records of this epoch from now on, and no longer those whose numbers have the same low bits: none could name
    /// it (§4.2.2), and a peer that changes its keys often would fill the memory.
    pub(super) fn install(&mut self, number: u64, protection: Protection) {
        self.all.retain(|epoch| (epoch.number ^ number) & EPOCH_MASK != 0);
        self.all.push(ReadEpoch {
            number,
            suite: protection.suite,
            keys: EpochKeys::Ready(protection),
            window: ReplayWindow::default(),
            forged: 0,
            until: None,
        });
    }

    /// Returns the newest epoch with keys; 0 without any.
    pub(crate) fn newest(&self) -> u64 {
        self.all.last().map_or(0, |epoch| epoch.number)
    }

    /// Returns epoch and sequence number of the newest record that opened.
    pub(crate) fn newest_record(&self) -> (u64, u64) {
        let opened = self.all.iter().rev().find(|epoch| epoch.window.next() > 0);
        opened.map_or((0, 0), |epoch| (epoch.number, epoch.window.next()))
    }

    /// Drops the keys of all epochs below `number` at `until`, unless they go earlier.
    pub(crate) fn retire_below(&mut self, number: u64, until: Duration) {
        for epoch in self.all.iter_mut().filter(|epoch| epoch.number < number) {
            epoch.until = Some(epoch.until.map_or(until, |earlier| earlier.min(until)));
        }
    }

    /// Drops the keys of an epoch.
    pub(crate) fn drop_epoch(&mut self, number: u64) {
        self.all.retain(|epoch| epoch.number != number);
    }

    /// Drops the keys of all epochs below `number`.
    pub(crate) fn drop_below(&mut self, number: u64) {
        self.all.retain(|epoch| epoch.number >= number);
    }

    /// Returns when the next keys are dropped.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.all.iter().filter_map(|epoch| epoch.until).min()
    }

    /// Drops the keys whose time is over.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.all.retain(|epoch| epoch.until.is_none_or(|until| now < until));
    }

    /// Keeps the secret of an epoch instead of its keys, which take more than a kilobyte.
    pub(crate) fn keep_secret(&mut self, number: u64, secret: Box<KeptTrafficSecret>) {
        if let Some(epoch) = self.all.iter_mut().find(|epoch| epoch.number == number) {
            epoch.keys = EpochKeys::Derived { secret, keys: None };
        }
    }

    /// Returns whether all keys but the newest can be derived again.
    pub(crate) fn can_sleep(&self) -> bool {
        let earlier = self.all.split_last().map_or(&[][..], |(_, earlier)| earlier);
        earlier.iter().all(|epoch| matches!(epoch.keys, EpochKeys::Derived { .. }))
    }

    /// Drops the keys, which [`wake`](Self::wake) derives again.
    pub(crate) fn sleep(&mut self) {
        for epoch in &mut self.all {
            match &mut epoch.keys {
                EpochKeys::Derived { keys, .. } => *keys = None,
                newest => *newest = EpochKeys::Asleep,
            }
        }
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.all.shrink_to_fit();
    }

    /// Returns the suite of the newest keys, if they are to be derived again.
    pub(crate) fn sleeping(&self) -> Option<&'static Suite> {
        let asleep = |epoch: &&ReadEpoch| matches!(epoch.keys, EpochKeys::Asleep);
        self.all.last().filter(asleep).map(|epoch| epoch.suite)
    }

    /// Sets the newest keys again.
    pub(super) fn wake(&mut self, protection: Protection) {
        if let Some(epoch) = self.all.last_mut() {
            epoch.keys = EpochKeys::Ready(protection);
        }
    }

    /// Drops all keys.
    pub(crate) fn close(&mut self) {
        self.all.clear();
    }

    /// Returns whether so many records were forged that the newest keys must be replaced (§4.5.3): by a KeyUpdate at
    /// half of the limit, unless one was asked for, or by the end of the association at the limit. Earlier keys are
    /// dropped at theirs.
    pub(crate) fn forgeries(&self) -> Forgeries {
        let of = |epoch: &ReadEpoch| {
            let limit = epoch.suite.integrity_limit;
            if epoch.forged >= limit {
                Forgeries::AtLimit
            } else if epoch.forged >= limit / 2 && epoch.number != self.asked_in {
                Forgeries::NearLimit
            } else {
                Forgeries::Few
            }
        };
        self.all.last().map_or(Forgeries::Few, of)
    }

    /// Notes that the peer was asked to replace the newest keys. It does so with its next data, however late that is.
    pub(crate) fn note_asked(&mut self) {
        self.asked_in = self.newest();
    }

    /// Drops earlier keys under which as many records were forged as they withstand.
    pub(super) fn drop_used_up(&mut self) {
        let newest = self.newest();
        let withstands = |epoch: &ReadEpoch| epoch.forged < epoch.suite.integrity_limit;
        self.all.retain(|epoch| epoch.number == newest || withstands(epoch));
    }
}

/// The bits of an epoch's number that a record has.
pub(super) const EPOCH_MASK: u64 = 3;

/// How many records were forged under the newest keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgeries {
    Few,
    NearLimit,
    AtLimit,
}

#[cfg(test)]
mod tests {
    use super::super::incoming::tests::{EPOCH, kept_secret, protection, protection_of, sealed};
    use super::super::incoming::{IncomingRecords, NextRecord};
    use super::*;
    use crate::testing::AES_128_GCM_SHA256;

    #[test]
    fn earlier_keys_go_after_as_many_forgeries_as_they_withstand() {
        let Suite { id, hash, aead, .. } = AES_128_GCM_SHA256;
        let suite = Box::leak(Box::new(Suite::new(id, hash, aead).with_integrity_limit(4)));
        let mut incoming = IncomingRecords::new();
        incoming.epochs.install(EPOCH, protection_of(suite));
        incoming.epochs.install(EPOCH + 1, protection_of(suite));
        let forged = [&sealed(b"data\x17")[..], b"!"].concat();
        for _ in 0..4 {
            assert!(
                incoming.epochs.all.len() == 2 && incoming.epochs.forgeries() == Forgeries::Few
            );
            let dropped = incoming.next(&mut forged.clone(), Duration::ZERO);
            assert!(matches!(dropped, NextRecord::Dropped(_)));
        }
        let late = incoming.next(&mut sealed(b"data\x17"), Duration::ZERO);
        assert!(matches!(late, NextRecord::WithoutKeys(_)));
        assert_eq!(
            (incoming.epochs.newest(), incoming.epochs.forgeries()),
            (EPOCH + 1, Forgeries::Few)
        );
    }

    /// Otherwise each forgery would cost a derivation, for four minutes after a handshake.
    #[test]
    fn keys_of_a_kept_secret_are_derived_once_until_the_association_sleeps() {
        let mut incoming = IncomingRecords::new();
        for epoch in [EPOCH, EPOCH + 1] {
            incoming.epochs.install(epoch, protection());
        }
        incoming.epochs.keep_secret(EPOCH, kept_secret());
        let forged = [&sealed(b"data\x17")[..], b"!"].concat();
        for derives in [true, false, false] {
            let dropped = incoming.next(&mut forged.clone(), Duration::ZERO);
            assert!(matches!(dropped, NextRecord::Dropped(_)));
            assert_eq!(incoming.take_has_derived(), derives);
        }
        incoming.epochs.sleep();
        let opened = incoming.next(&mut sealed(b"data\x17"), Duration::ZERO);
        assert!(matches!(opened, NextRecord::Opened(..)) && incoming.take_has_derived());
    }

    #[test]
    fn keys_that_are_replaced_twice_go_at_the_first_time() {
        let mut epochs = ReadEpochs::default();
        (EPOCH..EPOCH + 3).for_each(|epoch| epochs.install(epoch, protection()));
        let second = Duration::from_secs(1);
        epochs.retire_below(EPOCH + 1, second);
        epochs.retire_below(EPOCH + 2, second * 2);
        assert_eq!(epochs.deadline(), Some(second));
        epochs.expire(second);
        assert_eq!(epochs.deadline(), Some(second * 2));
        epochs.expire(second * 2);
        assert_eq!((epochs.all.len(), epochs.newest()), (1, EPOCH + 2));
    }

    #[test]
    fn a_peer_that_changes_its_keys_often_fills_no_memory() {
        let mut incoming = IncomingRecords::new();
        for epoch in 2..100 {
            incoming.epochs.install(epoch, protection());
            assert!(incoming.epochs.all.len() <= 4 && incoming.epochs.newest() == epoch);
        }
    }
}
