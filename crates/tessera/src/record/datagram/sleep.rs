//! Associations that sleep: their secrets stay, and their keys are derived again when they wake.

use alloc::vec::Vec;
use core::time::Duration;

use super::Datagrams;
use super::early_records::EarlyRecords;
use super::protection::Protection;
use crate::handshake::Direction;
use crate::schedule::TrafficSecret;

impl Datagrams {
    /// Drops the keys that can be derived again, and all unused memory; returns whether the association sleeps: not while
    /// messages or ACKs are under way, nor while the peer may use application keys of an earlier epoch.
    pub(crate) fn sleep(&mut self, now: Duration) -> bool {
        self.incoming.epochs.expire(now);
        let may_sleep = self.is_complete
            && self.flight.is_empty()
            && self.alert.is_none()
            && !self.fragments.has_parts()
            && self.acknowledgements.deadline().is_none()
            && self.incoming.epochs.can_sleep();
        if may_sleep {
            self.incoming.epochs.sleep();
            self.outgoing.sleep();
            self.release();
            self.acknowledgements.clear();
            self.unsent_early = Vec::new();
            self.early_data = EarlyRecords::default();
        }
        may_sleep
    }

    /// Derives dropped keys again; `secret` returns the traffic secret of a direction.
    pub(crate) fn wake<'s>(&mut self, secret: impl Fn(Direction) -> Option<TrafficSecret<'s>>) {
        if let Some((suite, secret)) = self.incoming.epochs.sleeping().zip(secret(Direction::Read))
        {
            self.incoming.epochs.wake(Protection::new(suite, secret));
        }
        if let Some((suite, secret)) = self.outgoing.sleeping().zip(secret(Direction::Write)) {
            self.outgoing.wake(Protection::new(suite, secret));
        }
    }
}
