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

    /// Returns the next data that came before the ClientHello was answered.
    pub(crate) fn next_early_data(&mut self) -> Option<Vec<u8>> {
        if self.has_read_keys() {
            // The answer had no count, so the epoch stays open, and a gap is a loss like any other.
            for (_, data) in self.open_early() {
                self.take_early(data);
            }
        }
        Some(core::mem::take(&mut *self.early_data.taken.pop_front()?))
    }

    /// Opens what is kept, closes the epoch, and returns how many records it has taken: those without a gap from the
    /// first on. The others were not executed, and never will be.
    pub(super) fn close_early_data(&mut self) -> u32 {
        let opened = self.open_early();
        self.incoming.epochs.drop_epoch(EARLY_DATA_EPOCH);
        let mut taken = 0;
        for (sequence, data) in opened {
            if sequence != u64::from(taken) || !self.take_early(data) {
                break;
            }
            taken += 1;
        }
        taken
    }

    /// Opens what is kept; returns the data in order, with their sequence numbers.
    fn open_early(&mut self) -> Vec<(u64, Zeroizing<Vec<u8>>)> {
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
        opened
    }

    /// Takes data unless it exceeds max_early_data_size; returns whether it did.
    fn take_early(&mut self, data: Zeroizing<Vec<u8>>) -> bool {
        let is_taken = self.count_early(data.len());
        if is_taken {
            self.early_data.taken.push_back(data);
        }
        is_taken
    }

    /// Counts data; returns whether it is within max_early_data_size.
    #[must_use]
    pub(crate) fn count_early(&mut self, len: usize) -> bool {
        let left = self.early_data_left.checked_sub(len);
        self.early_data_left = left.unwrap_or(self.early_data_left);
        left.is_some()
    }
}

/// The most records that are kept.
const MAX_RECORDS: usize = 16;

/// The most bytes that are kept.
const MAX_LEN: usize = 20 * 1024;

#[cfg(test)]
pub(super) mod tests {
    use super::super::below::DatagramBelow;
    use super::*;
    use crate::crypto::Suite;
    use crate::handshake::{Below, Direction, Epoch};
    use crate::role::Role;
    use crate::schedule::{DATAGRAM, EarlySecret, KeyDerivation};
    use crate::testing::AES_128_GCM_SHA256;

    const SUITE: &Suite = &AES_128_GCM_SHA256;
    const LIMIT: usize = 5;

    pub(in super::super) fn datagrams(role: Role) -> Datagrams {
        Datagrams::new(role, Duration::from_secs(1), true, 1200, 10)
    }

    pub(in super::super) fn install(datagrams: &mut Datagrams, direction: Direction, epoch: Epoch) {
        let kdf = KeyDerivation { hash: SUITE.hash, profile: &DATAGRAM };
        let secret = EarlySecret::new(kdf, kdf.zeros()).client_early_traffic(&SUITE.hash.hash(b""));
        let mut below = DatagramBelow { datagrams };
        below.install(direction, epoch, SUITE, secret.traffic()).expect("nothing is there yet");
    }

    /// A server to which these records came, by number, before it answered; they hold `a`, `b`, `c`, and so on.
    fn server_with(numbers: &[usize]) -> Datagrams {
        let mut client = datagrams(Role::Client);
        install(&mut client, Direction::Write, Epoch::EarlyData);
        client.early_data_left = 26;
        for letter in b'a'..=b'z' {
            assert_eq!(client.add_early_data(&[letter]), 1);
        }
        let mut server = datagrams(Role::Server);
        for number in numbers {
            assert!(server.keep_early(&client.unsent_early[*number]));
        }
        assert_eq!(server.next_early_data(), None, "there are no keys");
        install(&mut server, Direction::Read, Epoch::EarlyData);
        server.early_data_left = LIMIT;
        server
    }

    fn taken(server: &mut Datagrams) -> Vec<u8> {
        core::iter::from_fn(|| server.next_early_data()).flatten().collect()
    }

    #[test]
    fn the_answer_takes_what_came_without_a_gap_and_within_the_limit() {
        for (numbers, expected) in
            [(&[1, 0, 3, 2][..], &b"abcd"[..]), (&[0, 1, 3], b"ab"), (&[1], b"")]
        {
            let mut server = server_with(numbers);
            assert_eq!(server.close_early_data() as usize, expected.len());
            install(&mut server, Direction::Read, Epoch::Handshake);
            assert_eq!(taken(&mut server), expected);
        }
        let mut server = server_with(&[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(server.close_early_data() as usize, LIMIT);
    }

    #[test]
    fn what_comes_before_the_client_hello_is_bounded() {
        let record = |first, len| {
            let mut record = alloc::vec![0; len];
            record[0] = first;
            record
        };
        let mut server = datagrams(Role::Server);
        assert!(!server.keep_early(&record(0b0010_1110, 40)), "of another epoch");
        for count in 0..=MAX_RECORDS {
            assert_eq!(server.keep_early(&record(0b0010_1101, 40)), count < MAX_RECORDS);
        }
        let mut server = datagrams(Role::Server);
        assert!(server.keep_early(&record(0b0010_1101, MAX_LEN - 40)));
        assert!(!server.keep_early(&record(0b0010_1101, 41)));
        assert!(server.keep_early(&record(0b0010_1101, 40)));
    }

    #[test]
    fn early_data_that_no_datagram_may_hold_any_more_is_dropped() {
        let mut client = datagrams(Role::Client);
        install(&mut client, Direction::Write, Epoch::EarlyData);
        client.early_data_left = 300;
        assert_eq!((client.add_early_data(&[1; 200]), client.add_early_data(&[2; 9])), (200, 9));
        client.set_max_datagram(100);
        let mut datagram = Vec::new();
        assert!(client.transmit(usize::MAX, Duration::ZERO, &mut datagram), "the short record");
        assert!(datagram.len() < 100 && !client.has_output(Duration::ZERO));
    }

    /// Such as a client of another maker, which knows no `early_records`.
    #[test]
    fn what_came_before_an_answer_without_a_count_is_read_after_it() {
        let mut server = server_with(&[4, 1, 2]);
        install(&mut server, Direction::Read, Epoch::Handshake);
        assert_eq!(taken(&mut server), b"bce");
        let mut server = server_with(&[0, 1, 2, 3, 4, 5, 6]);
        install(&mut server, Direction::Read, Epoch::Handshake);
        assert_eq!(taken(&mut server), b"abcde", "and no more than the limit");
    }
}
