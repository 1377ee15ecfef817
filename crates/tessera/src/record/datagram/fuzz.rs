//! Random input for the parts of the record layer, next to the simplest thing that does the same.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use tessera_harness::{change, each_seed, garbage};

use super::acknowledgements::read_ack;
use super::flight::Flight;
use super::fragment::Fragment;
use super::fragments::{Arrival, Fragments, MAX_AHEAD_LEN};
use super::header::{PLAINTEXT_HEADER_LEN, RecordHeader};
use super::incoming::tests::{EPOCH, protection, sealed};
use super::incoming::{IncomingRecords, NextRecord};
use super::partial_message::{GAP_LEN, MAX_GAPS};
use super::record_number::RecordNumber;
use crate::connection_id::ConnectionId;
use crate::wire::{HandshakeType, Reader};

/// Reads a header by the letter of RFC 9147 §4: the kind, where the number is, where the content is.
fn naive_header(bytes: &[u8], id: &[u8]) -> Option<(bool, Range<usize>, Range<usize>)> {
    let first = *bytes.first()?;
    if matches!(first, 21 | 22 | 26) {
        let len = usize::from(*bytes.get(11)?) << 8 | usize::from(*bytes.get(12)?);
        let is_read = bytes[3] == 0 && bytes[4] == 0 && bytes.len() >= PLAINTEXT_HEADER_LEN + len;
        return is_read.then_some((false, 5..11, PLAINTEXT_HEADER_LEN..PLAINTEXT_HEADER_LEN + len));
    }
    if first >> 5 != 1 {
        return None;
    }
    let mut at = 1;
    if first & 16 != 0 {
        if id.is_empty() || bytes.get(1..=id.len())? != id {
            return None;
        }
        at += id.len();
    }
    let number = at..at + if first & 8 != 0 { 2 } else { 1 };
    let content = if first & 4 != 0 {
        let begin = number.end + 2;
        let len = bytes.get(number.end..begin)?;
        begin..begin + (usize::from(len[0]) << 8 | usize::from(len[1]))
    } else {
        number.end..bytes.len()
    };
    (content.start <= bytes.len() && content.end <= bytes.len()).then_some((true, number, content))
}

#[test]
fn fuzz_headers_are_read_as_the_specification_has_them() {
    each_seed(20_000, |numbers| {
        let id = numbers.bytes(3);
        let mut datagram = garbage(numbers, &[]);
        if numbers.happens(30) && datagram.len() > id.len() {
            datagram[1..=id.len()].copy_from_slice(&id);
        }
        let own_ids = [ConnectionId::new(&id).expect("short")];
        let read = RecordHeader::read(&datagram, &own_ids).map(|header| match header {
            RecordHeader::Plaintext { content, .. } => (false, 5..11, content),
            RecordHeader::Protected { number, content, .. } => (true, number, content),
        });
        assert_eq!(read, naive_header(&datagram, &id), "{datagram:?}");
    });
}

/// Whatever isn't sealed by the peer, or comes again, changes a count.
#[test]
fn fuzz_records_that_do_not_open_change_a_count_alone() {
    let genuine = sealed(b"data\x17");
    each_seed(5_000, |numbers| {
        let mut incoming = IncomingRecords::new();
        incoming.epochs.install(EPOCH, protection());
        for _ in 0..10 {
            let mut datagram = if numbers.happens(50) {
                let mut changed = genuine.clone();
                change(numbers, &mut changed);
                changed
            } else {
                garbage(numbers, core::slice::from_ref(&genuine))
            };
            let mut at = 0;
            while at < datagram.len() {
                let (before, total) = (incoming.epochs.newest_record(), total(&incoming));
                let rest = &mut datagram[at..];
                let is_genuine = rest.starts_with(&genuine[..1]) && rest.len() == genuine.len();
                let is_genuine = is_genuine && rest == genuine;
                match incoming.next(rest, Duration::ZERO) {
                    NextRecord::Opened(record, len) => {
                        assert!(record.number.epoch == 0 || is_genuine, "a forged record opened");
                        assert!(record.content.end <= len && len <= rest.len());
                        at += len;
                    }
                    NextRecord::Dropped(len) => {
                        assert!((1..=rest.len()).contains(&len));
                        assert_eq!(self::total(&incoming), total + 1);
                        assert_eq!(incoming.epochs.newest_record(), before);
                        at += len;
                    }
                    NextRecord::WithoutKeys(len) => {
                        assert!((1..=rest.len()).contains(&len));
                        assert_eq!(incoming.epochs.newest_record(), before);
                        at += len;
                    }
                    NextRecord::Invalid(error) => panic!("a forged record ended it: {error}"),
                }
            }
        }
        let mut last = genuine.clone();
        let is_there = incoming.epochs.newest_record() > (0, 0);
        let next = incoming.next(&mut last, Duration::ZERO);
        assert_eq!(
            matches!(next, NextRecord::Opened(..)),
            !is_there,
            "the peer's record opens once"
        );
    });
}

fn total(incoming: &IncomingRecords) -> u64 {
    let counts = incoming.counts;
    counts.malformed + counts.forged + counts.repeated + counts.without_keys + counts.misplaced
}

/// The bytes of one message that a naive reader has.
struct NaiveMessage {
    head: (u64, HandshakeType, usize),
    bytes: Vec<Option<u8>>,
    /// What is charged for it.
    kept: usize,
}

impl NaiveMessage {
    fn parts(&self) -> usize {
        let is_start =
            |at: &usize| self.bytes[*at].is_some() && (*at == 0 || self.bytes[at - 1].is_none());
        (0..self.bytes.len()).filter(is_start).count()
    }
}

/// Joins fragments byte by byte.
#[derive(Default)]
struct NaiveFragments {
    next: u32,
    messages: BTreeMap<u32, NaiveMessage>,
}

impl NaiveFragments {
    fn insert(
        &mut self,
        fragment: Fragment<'_>,
        epoch: u64,
        longest: usize,
    ) -> Result<Arrival, ()> {
        let seq = u32::from(fragment.message_seq);
        if seq < self.next {
            return Ok(Arrival::Old);
        }
        if seq == self.next && 4 + fragment.message_len > longest {
            return Err(());
        }
        if seq - self.next >= 8 {
            return Ok(Arrival::Dropped);
        }
        let range = fragment.offset..fragment.offset + fragment.bytes.len();
        if seq > self.next && self.kept() + 4 + range.len() + GAP_LEN > MAX_AHEAD_LEN {
            return Ok(Arrival::Dropped);
        }
        let head = (epoch, fragment.typ, fragment.message_len);
        let message = self.messages.entry(seq).or_insert_with(|| NaiveMessage {
            head,
            bytes: alloc::vec![None; fragment.message_len],
            kept: 4,
        });
        if message.head != head {
            return Err(());
        }
        let known = &message.bytes[range.clone()];
        if known.iter().zip(fragment.bytes).any(|(known, new)| known.is_some_and(|it| it != *new)) {
            return Err(());
        }
        if known.iter().all(Option::is_some) {
            return Ok(Arrival::Kept);
        }
        if message.parts() >= 256 {
            return Ok(Arrival::Dropped);
        }
        for (byte, new) in message.bytes[range.clone()].iter_mut().zip(fragment.bytes) {
            *byte = Some(*new);
        }
        let arrived = message.bytes.iter().flatten().count();
        message.kept = 4 + arrived + message.parts() * GAP_LEN;
        Ok(Arrival::Kept)
    }

    fn kept(&self) -> usize {
        self.messages.values().map(|message| message.kept).sum()
    }

    fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        let message = self.messages.get(&self.next)?;
        let body: Vec<u8> = message.bytes.iter().copied().collect::<Option<_>>()?;
        let (epoch, typ, len) = message.head;
        let mut whole = alloc::vec![typ.0, (len >> 16) as u8, (len >> 8) as u8, len as u8];
        whole.extend(body);
        self.messages.remove(&self.next);
        self.next += 1;
        Some((epoch, whole))
    }
}

#[test]
fn fuzz_fragments_make_the_messages_that_a_naive_reader_makes() {
    const LONGEST: usize = 20_000;
    each_seed(150, |numbers| {
        let longest_body = *numbers.pick(&[1, 20, 700, 30_000]);
        let bodies: Vec<_> = (0..14).map(|_| numbers.bytes(longest_body + 1)).collect();
        let most = *numbers.pick(&[1, 3, 50, 2_000, 30_000]);
        let (mut fragments, mut naive) = (Fragments::default(), NaiveFragments::default());
        for _ in 0..400 {
            let seq = (naive.next as usize + numbers.below(11)).saturating_sub(1).min(13);
            let mut body = bodies[seq].clone();
            let mut message_len = body.len();
            let start = numbers.below(message_len + 1);
            let end = (start + numbers.below(most + 1)).min(message_len);
            let (mut epoch, mut typ) = (2, HandshakeType::CERTIFICATE);
            match numbers.below(40) {
                0 if start < end => body[start] ^= 1,
                1 => message_len += numbers.below(1 << 20),
                2 => epoch = 3,
                3 => typ = HandshakeType::FINISHED,
                _ => (),
            }
            let bytes = &body[start..end];
            let message_seq = seq as u16;
            let fragment = Fragment { typ, message_len, message_seq, offset: start, bytes };
            let expected = naive.insert(fragment, epoch, LONGEST);
            let arrival = fragments.insert(fragment, epoch, LONGEST);
            assert_eq!(arrival.map_err(|error| assert!(error.alert().is_some())), expected);
            assert_eq!(fragments.kept(), naive.kept());
            assert!(fragments.kept() <= MAX_AHEAD_LEN + LONGEST + MAX_GAPS * GAP_LEN);
            while let Some(message) = naive.next() {
                assert_eq!(fragments.next(), Some(message));
            }
            assert_eq!((fragments.next(), fragments.next_seq()), (None, naive.next));
        }
    });
}

#[test]
fn fuzz_records_of_fragments_are_read_or_refused() {
    each_seed(10_000, |numbers| {
        let mut fragments = Fragments::default();
        for _ in 0..20 {
            let record = garbage(numbers, &[]);
            let mut reader = Reader::new(record.get(PLAINTEXT_HEADER_LEN..).unwrap_or_default());
            while !reader.is_empty() {
                let Ok(fragment) = Fragment::read(&mut reader) else { break };
                let _ = fragments.insert(fragment, 0, 1 << 16);
                assert!(fragments.kept() <= MAX_AHEAD_LEN + (1 << 16) + MAX_GAPS * GAP_LEN);
            }
            while fragments.next().is_some() {}
        }
    });
}

/// Returns the records that an ACK names, read in steps of sixteen bytes.
fn naive_ack(content: &[u8], epoch: u64) -> Option<Vec<RecordNumber>> {
    let (len, names) = content.split_at_checked(2)?;
    let len = usize::from(len[0]) << 8 | usize::from(len[1]);
    if len != names.len() || len % 16 != 0 {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let names = names
        .chunks(16)
        .map(|name| RecordNumber { epoch: number(&name[..8]), sequence: number(&name[8..]) });
    let names: Vec<_> = names.collect();
    (epoch >= 3 || names.iter().all(|name| name.epoch <= epoch)).then_some(names)
}

#[test]
fn fuzz_acks_are_read_as_the_specification_has_them() {
    each_seed(20_000, |numbers| {
        let record = garbage(numbers, &[]);
        let content = record.get(PLAINTEXT_HEADER_LEN..).unwrap_or_default();
        let epoch = numbers.below(6) as u64;
        assert_eq!(read_ack(content, epoch).ok(), naive_ack(content, epoch), "{content:?}");
    });
}

/// Bytes of a message, by its number.
type Part = (u16, Range<usize>);

/// What is under way, byte by byte.
#[derive(Default)]
struct NaiveFlight {
    /// By number: which bytes are not acknowledged.
    open: BTreeMap<u16, Vec<bool>>,
    sent: Vec<(RecordNumber, Vec<Part>)>,
}

impl NaiveFlight {
    fn acknowledge(&mut self, records: &[RecordNumber]) {
        for (_, parts) in self.sent.iter().filter(|(number, _)| records.contains(number)) {
            for (seq, range) in parts {
                if let Some(open) = self.open.get_mut(seq) {
                    open[range.clone()].fill(false);
                }
            }
        }
        self.open.retain(|_, open| open.contains(&true));
    }
}

/// Records are lost and acknowledged at random, and some ACKs name what never was: a flight ends when every byte of it
/// is acknowledged, and not before.
#[test]
fn fuzz_a_flight_ends_with_the_ack_of_its_last_byte() {
    each_seed(400, |numbers| {
        let (mut flight, mut naive) = (Flight::default(), NaiveFlight::default());
        let (mut sequence, mut added) = (0, 0);
        for step in 0..120 {
            if added < 6 && numbers.happens(10) {
                let mut body = numbers.bytes(900);
                body.push(1);
                let mut message = alloc::vec![11, 0, (body.len() >> 8) as u8, body.len() as u8];
                message.extend(&body);
                assert!(flight.add(2, &message));
                naive.open.insert(added, alloc::vec![true; body.len()]);
                added += 1;
            }
            if numbers.happens(20) {
                flight.send_again();
            }
            while flight.has_unsent() && naive.sent.len() < 128 && !numbers.happens(20) {
                let number = RecordNumber { epoch: 2, sequence };
                let mut content = Vec::new();
                let room = 13 + numbers.below(300);
                flight.write_record(number, room, Duration::from_secs(step), &mut content);
                assert!((1..=room).contains(&content.len()));
                let (mut reader, mut parts) = (Reader::new(&content), Vec::new());
                while !reader.is_empty() {
                    let part = Fragment::read(&mut reader).expect("whole");
                    let range = part.offset..part.offset + part.bytes.len();
                    assert!(naive.open[&part.message_seq][range.clone()].contains(&true));
                    parts.push((part.message_seq, range));
                }
                naive.sent.push((number, parts));
                sequence += 1;
            }
            let mut named = Vec::new();
            for _ in 0..numbers.below(4) {
                let epoch = numbers.below(4) as u64;
                let epoch = if numbers.happens(70) { 2 } else { epoch };
                let sequence = numbers.below(sequence as usize + 2) as u64;
                named.push(RecordNumber { epoch, sequence });
            }
            flight.acknowledge(&named);
            naive.acknowledge(&named);
            assert_eq!(flight.is_empty(), naive.open.is_empty());
        }
        // In the end everything arrives.
        flight.send_again();
        while flight.has_unsent() {
            let number = RecordNumber { epoch: 2, sequence };
            flight.write_record(number, 500, Duration::ZERO, &mut Vec::new());
            flight.acknowledge(&[number]);
            sequence += 1;
        }
        assert!(flight.is_empty());
    });
}
