//! Early data at a server, from its arrival to the answer that closes it (docs/0rtt-fs.md).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use zeroize::Zeroizing;

use super::Datagrams;
use super::incoming::NextRecord;
use super::record_number::EARLY_DATA_EPOCH;
use crate::wire::ContentType;

/// The records of early data that came before the ClientHello was answered.
#[derive(Default)]
pub(crate) struct EarlyRecords {
    /// As they came, while there are no keys.
    protected: Vec<Vec<u8>>,
    /// Their data, in order.
    taken: VecDeque<Zeroizing<Vec<u8>>>,
}

impl EarlyRecords {
    /// Returns the next data.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        Some(core::mem::take(&mut *self.taken.pop_front()?))
    }
}

impl Datagrams {
    /// Keeps a record of early data for which there are no keys yet; returns whether it is one, and there is room.
    pub(crate) fn keep_early(&mut self, record: &[u8]) -> bool {
        let is_early = record.first().is_some_and(|first| u64::from(first & 3) == EARLY_DATA_EPOCH);
        let kept = &mut self.early_data.protected;
        let len: usize = kept.iter().map(Vec::len).sum();
        let is_kept = is_early && kept.len() < MAX_RECORDS && len + record.len() <= MAX_LEN;
        if is_kept {
            kept.push(record.to_vec());
        }
        is_kept
    }

    /// Opens what is kept, closes the epoch, and returns how many records it has taken: those without a gap from the
    /// first on. The others were not executed, and never will be.
    pub(super) fn close_early_data(&mut self) -> u32 {
        let mut opened = Vec::new();
        for record in core::mem::take(&mut self.early_data.protected) {
            let mut record = Zeroizing::new(record);
            if let NextRecord::Opened(header, _) = self.incoming.next(&mut record, Duration::ZERO)
                && header.typ == ContentType::APPLICATION_DATA
            {
                record.truncate(header.content.end);
                record.drain(..header.content.start);
                opened.push((header.number.sequence, record));
            }
        }
        opened.sort_unstable_by_key(|(sequence, _)| *sequence);
        self.incoming.drop_epoch(EARLY_DATA_EPOCH);
        let mut taken = 0;
        for (sequence, data) in opened {
            let Some(left) = self.early_data_left.checked_sub(data.len()) else { break };
            if sequence != u64::from(taken) {
                break;
            }
            self.early_data_left = left;
            self.early_data.taken.push_back(data);
            taken += 1;
        }
        taken
    }
}

/// The most records that are kept.
const MAX_RECORDS: usize = 16;

/// The most bytes that are kept.
const MAX_LEN: usize = 20 * 1024;
