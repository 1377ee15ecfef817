//! The record layer of an association that moves to another process, as bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::num::NonZeroU16;
use core::time::Duration;

use super::connection_ids::{OwnConnectionIds, PeerConnectionIds};
use super::incoming::DroppedRecords;
use super::numbering::Numbering;
use super::read_epochs::{EpochKeys, ReadEpoch};
use super::record_number::HANDSHAKE_EPOCH;
use super::replay_window::{ReplayWindow, read_count};
use super::{Datagrams, IdleDatagrams};
use crate::crypto::Suite;
use crate::limits::MAX_PLAINTEXT;
use crate::padding::Padding;
use crate::schedule::{DATAGRAM, KeptTrafficSecret, KeyDerivation};
use crate::wire::{Reader, Writer};

/// The epochs before the newest.
pub(crate) struct EarlierEpochs(Vec<ReadEpoch>);

impl Datagrams {
    /// Takes out the epochs before the newest; `None` while a message may come in one whose end isn't known.
    pub(crate) fn take_earlier_epochs(&mut self) -> Option<EarlierEpochs> {
        let all = &mut self.incoming.epochs.all;
        let (_, earlier) = all.split_last()?;
        if earlier.iter().any(|epoch| epoch.until.is_none()) {
            return None;
        }
        let newest = all.pop()?;
        Some(EarlierEpochs(mem::replace(all, alloc::vec![newest])))
    }

    /// Puts them back.
    pub(crate) fn put_back(&mut self, EarlierEpochs(mut earlier): EarlierEpochs) {
        let all = &mut self.incoming.epochs.all;
        earlier.append(all);
        *all = earlier;
    }
}

impl IdleDatagrams {
    /// Keeps what the client's last flight needs, which may come again. Late data of other epochs is lost.
    pub(crate) fn keep_last_flight(&mut self, EarlierEpochs(earlier): EarlierEpochs) {
        let is_derived = |epoch: &ReadEpoch| {
            epoch.number == HANDSHAKE_EPOCH && matches!(epoch.keys, EpochKeys::Derived { .. })
        };
        self.late_flight = earlier.into_iter().find(is_derived).map(Box::new);
    }

    /// Appends all of it but the suite.
    pub(crate) fn write(&self, now: Duration, out: &mut Vec<u8>) {
        let Self {
            numbering,
            read_epoch,
            window,
            forged,
            asked_in,
            own_ids,
            max_inner_plaintext,
            counts,
            write_epoch,
            next,
            peer_ids,
            max_plaintext,
            padding,
            delimits_data,
            max_burst,
            next_message,
            next_of_peer,
            answered_seq,
            resent,
            max_datagram,
            fixed_timeout,
            timeout,
            late_flight,
        } = self;
        out.u8(u8::from(*numbering != Numbering::Rfc9147));
        out.u64(*read_epoch);
        window.write(out);
        out.u64(*forged);
        out.u64(*asked_in);
        own_ids.write(out);
        out.u16(*max_inner_plaintext);
        let DroppedRecords { malformed, forged, repeated, without_keys, misplaced } = counts;
        [malformed, forged, repeated, without_keys, misplaced].iter().for_each(|it| out.u64(**it));
        out.u64(*write_epoch);
        out.u64(*next);
        peer_ids.write(out);
        out.u16(*max_plaintext);
        out.u16(match padding {
            Padding::None => 0,
            Padding::MultipleOf(multiple) => multiple.get(),
        });
        out.u8(u8::from(*delimits_data));
        out.u8(*max_burst);
        out.u32(*next_message);
        out.u32(*next_of_peer);
        out.u32(*answered_seq);
        out.u64(*resent);
        out.u32(*max_datagram as u32);
        write_duration(fixed_timeout.unwrap_or_default(), out);
        write_duration(*timeout, out);
        let late = late_flight.as_ref().and_then(|epoch| match &epoch.keys {
            EpochKeys::Derived { secret, .. } => {
                Some((epoch, secret, epoch.until?.checked_sub(now)?))
            }
            _ => None,
        });
        out.u8(u8::from(late.is_some()));
        if let Some((epoch, secret, left)) = late {
            epoch.window.write(out);
            out.u64(epoch.forged);
            write_duration(left, out);
            // A vector that grows leaves a copy.
            out.reserve_exact(RESERVED);
            out.bytes(secret.traffic().expose());
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        suite: &'static Suite,
        now: Duration,
    ) -> Option<Self> {
        let mut it = Self {
            numbering: match reader.u8().ok()? {
                0 => Numbering::Rfc9147,
                _ => Numbering::WithAuthenticatedHandshake,
            },
            read_epoch: read_count(reader)?,
            window: ReplayWindow::read(reader)?,
            forged: read_count(reader)?,
            asked_in: read_count(reader)?,
            own_ids: OwnConnectionIds::read(reader)?,
            max_inner_plaintext: reader
                .u16()
                .ok()
                .filter(|it| usize::from(*it) <= MAX_PLAINTEXT + 1)?,
            counts: DroppedRecords {
                malformed: read_count(reader)?,
                forged: read_count(reader)?,
                repeated: read_count(reader)?,
                without_keys: read_count(reader)?,
                misplaced: read_count(reader)?,
            },
            write_epoch: read_count(reader)?,
            next: read_count(reader)?,
            peer_ids: PeerConnectionIds::read(reader)?,
            max_plaintext: reader.u16().ok().filter(|it| usize::from(*it) <= MAX_PLAINTEXT)?,
            padding: NonZeroU16::new(reader.u16().ok()?).map_or(Padding::None, Padding::MultipleOf),
            delimits_data: reader.u8().ok()? != 0,
            max_burst: reader.u8().ok()?,
            next_message: reader.u32().ok().filter(|it| *it <= u32::MAX / 2)?,
            next_of_peer: reader.u32().ok().filter(|it| *it <= u32::MAX / 2)?,
            answered_seq: reader.u32().ok().filter(|it| *it <= u32::MAX / 2)?,
            resent: read_count(reader)?,
            max_datagram: (reader.u32().ok()? as usize).min(u16::MAX.into()),
            fixed_timeout: Some(read_duration(reader)?).filter(|it| !it.is_zero()),
            timeout: read_duration(reader)?,
            late_flight: None,
        };
        if reader.u8().ok()? != 0 {
            let (window, forged) = (ReplayWindow::read(reader)?, read_count(reader)?);
            let until = now.checked_add(read_duration(reader)?)?;
            let kdf = KeyDerivation { hash: suite.hash, profile: &DATAGRAM };
            let secret = KeptTrafficSecret::new(kdf, reader.take(suite.hash.len()).ok()?);
            it.late_flight = Some(Box::new(ReadEpoch {
                number: HANDSHAKE_EPOCH,
                suite,
                keys: EpochKeys::Derived { secret, keys: None },
                window,
                forged,
                until: Some(until),
            }));
        }
        let first = it.numbering.application();
        (it.read_epoch >= first && it.write_epoch >= first).then_some(it)
    }
}

fn write_duration(time: Duration, out: &mut Vec<u8>) {
    out.u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

fn read_duration(reader: &mut Reader<'_>) -> Option<Duration> {
    reader.u64().ok().map(Duration::from_nanos)
}

/// Room for this secret and those that follow, a few hundred bytes.
const RESERVED: usize = 512;
