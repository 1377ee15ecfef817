//! What an idle association keeps of its record layer.

use alloc::boxed::Box;
use core::mem;
use core::time::Duration;

use super::Datagrams;
use super::connection_ids::{OwnConnectionIds, PeerConnectionIds};
use super::incoming::DroppedRecords;
use super::numbering::Numbering;
use super::outgoing::WriteEpoch;
use super::read_epochs::{EpochKeys, ReadEpoch};
use super::replay_window::ReplayWindow;
use crate::crypto::Suite;
use crate::padding::Padding;
use crate::role::Role;

/// The record layer of an association that sleeps, without what only messages under way need.
pub(crate) struct IdleDatagrams {
    pub(super) numbering: Numbering,
    pub(super) read_epoch: u64,
    pub(super) window: ReplayWindow,
    pub(super) forged: u64,
    pub(super) asked_in: u64,
    pub(super) own_ids: OwnConnectionIds,
    pub(super) max_inner_plaintext: u16,
    pub(super) counts: DroppedRecords,
    pub(super) write_epoch: u64,
    pub(super) next: u64,
    pub(super) peer_ids: PeerConnectionIds,
    pub(super) max_plaintext: u16,
    pub(super) padding: Padding,
    pub(super) delimits_data: bool,
    pub(super) max_burst: u8,
    /// The numbers of this side's next message and of the peer's, and which of these this side has answered.
    pub(super) next_message: u32,
    pub(super) next_of_peer: u32,
    pub(super) answered_seq: u32,
    pub(super) resent: u64,
    pub(super) max_datagram: usize,
    pub(super) fixed_timeout: Option<Duration>,
    pub(super) timeout: Duration,
    /// Of a frozen association: the epoch of the client's last flight, which may come again.
    pub(super) late_flight: Option<Box<ReadEpoch>>,
}

impl Datagrams {
    /// Moves everything out of a record layer that [sleeps](Self::sleep) and reads under one epoch's keys alone.
    pub(crate) fn take_idle(&mut self) -> Option<IdleDatagrams> {
        let Self { incoming, outgoing, flight, fragments, timer, .. } = self;
        let [read] = &mut incoming.epochs.all[..] else { return None };
        let [write] = &mut outgoing.epochs[..] else { return None };
        if !matches!(read.keys, EpochKeys::Asleep) || write.protection.is_some() {
            return None;
        }
        Some(IdleDatagrams {
            numbering: self.numbering,
            read_epoch: read.number,
            window: mem::take(&mut read.window),
            forged: read.forged,
            asked_in: incoming.epochs.asked_in,
            own_ids: mem::take(&mut incoming.own_ids),
            // At most MAX_PLAINTEXT + 1.
            max_inner_plaintext: incoming.max_inner_plaintext as u16,
            counts: incoming.counts,
            write_epoch: write.number,
            next: write.next,
            peer_ids: mem::take(&mut outgoing.peer_ids),
            max_plaintext: outgoing.max_plaintext as u16,
            padding: outgoing.padding,
            delimits_data: self.delimits_data,
            max_burst: self.max_burst,
            next_message: flight.next_seq,
            next_of_peer: fragments.next_seq(),
            answered_seq: self.answered_seq,
            resent: flight.resent,
            max_datagram: self.max_datagram,
            fixed_timeout: timer.fixed,
            timeout: timer.timeout,
            late_flight: None,
        })
    }
}

impl IdleDatagrams {
    /// Returns the record layer that it was, asleep.
    pub(crate) fn wake(self, role: Role, suite: &'static Suite) -> Datagrams {
        let mut datagrams =
            Datagrams::new(role, self.timeout, true, self.max_datagram, self.max_burst);
        datagrams.numbering = self.numbering;
        datagrams.timer.fixed = self.fixed_timeout;
        datagrams.incoming.epochs.all.reserve_exact(1);
        datagrams.incoming.epochs.all.extend(self.late_flight.map(|it| *it));
        datagrams.incoming.epochs.all.push(ReadEpoch {
            number: self.read_epoch,
            suite,
            keys: EpochKeys::Asleep,
            window: self.window,
            forged: self.forged,
            until: None,
        });
        datagrams.incoming.epochs.asked_in = self.asked_in;
        datagrams.incoming.own_ids = self.own_ids;
        datagrams.incoming.max_inner_plaintext = self.max_inner_plaintext.into();
        datagrams.incoming.counts = self.counts;
        datagrams.outgoing.epochs.reserve_exact(1);
        datagrams.outgoing.epochs.push(WriteEpoch {
            number: self.write_epoch,
            suite,
            protection: None,
            next: self.next,
        });
        datagrams.outgoing.peer_ids = self.peer_ids;
        datagrams.outgoing.max_plaintext = self.max_plaintext.into();
        datagrams.outgoing.padding = self.padding;
        datagrams.delimits_data = self.delimits_data;
        datagrams.flight.next_seq = self.next_message;
        datagrams.flight.resent = self.resent;
        datagrams.fragments.next = self.next_of_peer;
        datagrams.answered_seq = self.answered_seq;
        datagrams.message_epoch = self.read_epoch;
        datagrams.is_complete = true;
        datagrams
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU16;

    use super::super::early_records::tests::{datagrams, install};
    use super::*;
    use crate::connection_id::ConnectionId;
    use crate::handshake::{Direction, Epoch};
    use crate::testing::AES_128_GCM_SHA256;

    #[test]
    fn an_idle_record_layer_keeps_its_limits_and_counts() {
        let mut before = datagrams(Role::Server);
        install(&mut before, Direction::Read, Epoch::Application);
        install(&mut before, Direction::Write, Epoch::Application);
        before.is_complete = true;
        before.incoming.epochs.all[0].forged = 1;
        before.incoming.epochs.asked_in = 2;
        before.incoming.max_inner_plaintext = 3;
        before.outgoing.max_plaintext = 4;
        before.outgoing.padding = Padding::MultipleOf(NonZeroU16::MAX);
        before.outgoing.peer_ids.keep(ConnectionId::default());
        before.delimits_data = true;
        let kept = |it: &Datagrams| {
            let epochs = &it.incoming.epochs;
            (
                [epochs.all[0].forged, epochs.asked_in, it.outgoing.peer_ids.spare() as u64],
                [it.incoming.max_inner_plaintext, it.outgoing.max_plaintext],
                (it.outgoing.padding, it.delimits_data),
            )
        };
        let expected = kept(&before);
        assert!(before.sleep(Duration::ZERO));
        let idle = before.take_idle().expect("asleep, under one epoch's keys");
        assert_eq!(kept(&idle.wake(Role::Server, &AES_128_GCM_SHA256)), expected);
    }
}
