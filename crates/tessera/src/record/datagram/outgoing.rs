//! Writes the records of datagrams (RFC 9147 §4).

use alloc::vec::Vec;

use super::connection_ids::PeerConnectionIds;
use super::header::{
    PLAINTEXT_HEADER_LEN, unified_header_len, write_plaintext_header, write_unified_header,
};
use super::protection::Protection;
use super::record_number::{EARLY_DATA_EPOCH, RecordNumber};
use crate::connection_id::ConnectionId;
use crate::crypto::{Suite, TAG_LEN};
use crate::limits::MAX_PLAINTEXT;
use crate::padding::Padding;
use crate::wire::ContentType;

/// The sending half.
pub(crate) struct OutgoingRecords {
    /// Records without keys: the next number.
    pub(super) next_plaintext: u64,
    /// The epochs with keys, in ascending order; earlier ones for retransmissions.
    pub(super) epochs: Vec<WriteEpoch>,
    pub(crate) peer_ids: PeerConnectionIds,
    /// The most content of one record; the peer may have lowered it (RFC 8449).
    pub(crate) max_plaintext: usize,
    pub(crate) padding: Padding,
}

pub(super) struct WriteEpoch {
    pub(super) number: u64,
    pub(super) suite: &'static Suite,
    /// `None` while the association sleeps.
    pub(super) protection: Option<Protection>,
    pub(super) next: u64,
}

/// Where a record may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordEnd {
    /// Others may follow in its datagram: it has a length.
    Delimited,
    /// With its datagram: it needs no length.
    OfDatagram,
}

impl OutgoingRecords {
    pub(crate) fn new() -> Self {
        Self {
            next_plaintext: 0,
            epochs: Vec::new(),
            peer_ids: PeerConnectionIds::default(),
            max_plaintext: MAX_PLAINTEXT,
            padding: Padding::None,
        }
    }

    /// Protects records of this epoch from now on, and all that belong to none.
    pub(super) fn install(&mut self, number: u64, protection: Protection) {
        let suite = protection.suite;
        self.epochs.push(WriteEpoch { number, suite, protection: Some(protection), next: 0 });
    }

    /// Continues after plaintext records that another sender wrote.
    pub(crate) fn skip_plaintext_to(&mut self, sequence: u64) {
        self.next_plaintext = sequence;
    }

    /// Returns the newest epoch; 0 without keys.
    pub(crate) fn newest(&self) -> u64 {
        self.epochs.last().map_or(0, |epoch| epoch.number)
    }

    /// Drops the keys of the epochs for which `is_needed` is false; the newest stay.
    pub(crate) fn retain(&mut self, is_needed: impl Fn(u64) -> bool) {
        let newest = self.newest();
        self.epochs.retain(|epoch| epoch.number == newest || is_needed(epoch.number));
    }

    /// Drops the keys of an epoch, even the newest: refused early data.
    pub(crate) fn drop_epoch(&mut self, number: u64) {
        self.epochs.retain(|epoch| epoch.number != number);
    }

    /// Drops all keys but the newest, which [`wake`](Self::wake) derives again.
    pub(crate) fn sleep(&mut self) {
        self.retain(|_| false);
        self.epochs.iter_mut().for_each(|epoch| epoch.protection = None);
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.epochs.shrink_to_fit();
    }

    /// Returns the suite of the newest keys, if they are to be derived again.
    pub(crate) fn sleeping(&self) -> Option<&'static Suite> {
        self.epochs.last().filter(|epoch| epoch.protection.is_none()).map(|epoch| epoch.suite)
    }

    /// Sets the newest keys again.
    pub(super) fn wake(&mut self, protection: Protection) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.protection = Some(protection);
        }
    }

    /// Drops all keys.
    pub(crate) fn close(&mut self) {
        self.epochs.clear();
    }

    /// Returns the number of the next record of an epoch.
    pub(crate) fn next_number(&self, epoch: u64) -> RecordNumber {
        let of_epoch = self.epochs.iter().find(|it| it.number == epoch);
        let sequence = of_epoch.map_or(self.next_plaintext, |it| it.next);
        RecordNumber { epoch, sequence }
    }

    /// Returns whether the newest keys should be changed: a few records before the suite's limit, so that the
    /// KeyUpdate itself, its retransmissions and alerts still fit (RFC 8446 §5.5).
    pub(crate) fn nears_limit(&self) -> bool {
        self.epochs.last().is_some_and(|epoch| {
            let limit = epoch.suite.confidentiality_limit;
            epoch.next >= limit.saturating_sub(RESERVED_RECORDS).max(1)
        })
    }

    /// Returns whether nothing more may be sealed under the newest keys.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.epochs.last().is_some_and(|epoch| epoch.next >= epoch.suite.confidentiality_limit)
    }

    /// Returns how much longer than its content a record of an epoch is, in bytes.
    pub(crate) fn overhead(&self, epoch: u64) -> usize {
        if epoch == 0 {
            PLAINTEXT_HEADER_LEN
        } else {
            unified_header_len(&self.peer_ids.current, true) + 1 + TAG_LEN
        }
    }

    /// Returns the most content of a record of an epoch with `room` bytes.
    pub(crate) fn most_content(&self, epoch: u64, room: usize) -> usize {
        let room = room.saturating_sub(self.overhead(epoch));
        if epoch == 0 { room.min(MAX_PLAINTEXT) } else { room.min(self.max_plaintext) }
    }

    /// Returns the length of a record under the newest keys with `len` bytes of content, padding included.
    pub(crate) fn record_len(&self, len: usize, (room, end): (usize, RecordEnd)) -> usize {
        let header = unified_header_len(&self.peer_ids.current, end == RecordEnd::Delimited);
        let most = room.saturating_sub(header + 1 + TAG_LEN).min(self.max_plaintext);
        header + self.padding.padded(len, most.max(len)) + 1 + TAG_LEN
    }

    /// Appends a record to a datagram; `content` writes its content, and may write nothing, so that there is no record.
    /// `false`: the epoch has no keys.
    pub(crate) fn record(
        &mut self,
        typ: ContentType,
        epoch: u64,
        (room, end): (usize, RecordEnd),
        out: &mut Vec<u8>,
        content: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let start = out.len();
        // Reserve now: a buffer that grows with plaintext in it leaves a copy behind.
        out.reserve(room);
        if epoch == 0 {
            let number = RecordNumber { epoch, sequence: self.next_plaintext };
            write_plaintext_header(out, typ, number, 0);
            let begin = out.len();
            content(out);
            let len = out.len() - begin;
            if len == 0 {
                out.truncate(start);
                return true;
            }
            out[begin - 2..begin].copy_from_slice(&(len as u16).to_be_bytes());
            self.next_plaintext += 1;
            return true;
        }
        let of_epoch = self.epochs.iter_mut().find(|it| it.number == epoch);
        let Some(WriteEpoch { protection: Some(protection), next, .. }) = of_epoch else {
            return false;
        };
        let number = RecordNumber { epoch, sequence: *next };
        let has_length = (end == RecordEnd::Delimited).then_some(0);
        // RFC 9147 §4: early data comes before the server has given its connection ID.
        let none = ConnectionId::default();
        let peer_id = if epoch == EARLY_DATA_EPOCH { &none } else { &self.peer_ids.current };
        let number_at = write_unified_header(out, number, peer_id, has_length);
        let begin = out.len();
        content(out);
        let len = out.len() - begin;
        if len == 0 && typ != ContentType::APPLICATION_DATA {
            out.truncate(start);
            return true;
        }
        let most = room.saturating_sub(begin - start + 1 + TAG_LEN).min(self.max_plaintext);
        let padded = self.padding.padded(len, most.max(len));
        out.push(typ.0);
        // RFC 8446 §5.4: zeros after the content type, then room for the tag.
        out.resize(begin + padded + 1 + TAG_LEN, 0);
        if has_length.is_some() {
            let sealed = (out.len() - begin) as u16;
            out[begin - 2..begin].copy_from_slice(&sealed.to_be_bytes());
        }
        let number_at = number_at.start - start..number_at.end - start;
        protection.seal(number.sequence, &mut out[start..], begin - start, number_at);
        *next += 1;
        true
    }
}

/// How many records before its limit a key is replaced.
const RESERVED_RECORDS: u64 = 256;
