//! Opens the records of datagrams (RFC 9147 §4).

use alloc::boxed::Box;
use core::ops::Range;
use core::time::Duration;

use super::connection_ids::OwnConnectionIds;
use super::header::RecordHeader;
use super::protection::Protection;
use super::read_epochs::{EPOCH_MASK, EpochKeys, ReadEpochs};
use super::record_number::{EARLY_DATA_EPOCH, RecordNumber};
use crate::crypto::TAG_LEN;
use crate::error::{Error, protocol, unexpected_message};
use crate::limits::{MAX_EXPANSION, MAX_PLAINTEXT};
use crate::wire::{AlertDescription, ContentType};

/// The receiving half.
pub(crate) struct IncomingRecords {
    pub(crate) epochs: ReadEpochs,
    pub(crate) own_ids: OwnConnectionIds,
    /// The most content and type of one protected record; this side may have lowered it (RFC 8449).
    pub(crate) max_inner_plaintext: usize,
    /// The number of a closure alert: records after it are ignored (§5.10).
    pub(super) closed_at: Option<RecordNumber>,
    /// Keys were derived for a record: the stack has copies.
    has_derived: bool,
    pub(crate) counts: DroppedRecords,
}

/// The records that were dropped, by reason; they changed nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedRecords {
    /// Their header is none of DTLS 1.3, or names another connection ID, or a length beyond the datagram.
    pub malformed: u64,
    /// They didn't open.
    pub forged: u64,
    /// Their number was seen before, or is too old to tell.
    pub repeated: u64,
    /// There are no keys for their epoch, or none any more.
    pub without_keys: u64,
    /// Their content may not come in their epoch.
    pub misplaced: u64,
}

/// A record that opened, with its content in place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenedRecord {
    pub(crate) typ: ContentType,
    pub(crate) number: RecordNumber,
    /// The content, from the record's beginning.
    pub(crate) content: Range<usize>,
}

/// What a datagram holds next.
pub(crate) enum NextRecord {
    /// A record, and its length.
    Opened(OpenedRecord, usize),
    /// A record that was dropped, and its length.
    Dropped(usize),
    /// A record for which there are no keys, or none yet, and its length. It isn't counted.
    WithoutKeys(usize),
    /// A record with which the peer, and no one else, broke the protocol.
    Invalid(Error),
}

impl IncomingRecords {
    pub(crate) fn new() -> Self {
        Self {
            epochs: ReadEpochs::default(),
            own_ids: OwnConnectionIds::default(),
            max_inner_plaintext: MAX_PLAINTEXT + 1,
            closed_at: None,
            has_derived: false,
            counts: DroppedRecords::default(),
        }
    }

    /// Returns whether keys were derived for a record, once.
    pub(crate) fn take_has_derived(&mut self) -> bool {
        core::mem::take(&mut self.has_derived)
    }

    /// Notes a closure alert: later records are ignored.
    pub(crate) fn end_at(&mut self, number: RecordNumber) {
        let earliest = self.closed_at.map_or(number, |earlier| earlier.min(number));
        self.closed_at = Some(earliest);
    }

    /// Opens the first record of `bytes`. A record that doesn't open changes nothing but a count (§4.5.2).
    pub(crate) fn next(&mut self, bytes: &mut [u8], now: Duration) -> NextRecord {
        let Some(header) = RecordHeader::read(bytes, self.own_ids.all()) else {
            // Where it ends is unknown, too.
            self.counts.malformed += 1;
            return NextRecord::Dropped(bytes.len());
        };
        let len = header.end();
        let (typ, number, content) = match header {
            RecordHeader::Plaintext { typ, number, content } => {
                if content.len() > MAX_PLAINTEXT {
                    self.counts.malformed += 1;
                    return NextRecord::Dropped(len);
                }
                (typ, number, content)
            }
            RecordHeader::Protected { epoch_bits, own_id, number, content } => {
                match self.open(bytes, epoch_bits, own_id, number, content, now) {
                    Ok(opened) => opened,
                    Err(unread) => return unread.of(len, &mut self.counts),
                }
            }
        };
        if self.closed_at.is_some_and(|closed| number > closed) {
            self.counts.misplaced += 1;
            return NextRecord::Dropped(len);
        }
        NextRecord::Opened(OpenedRecord { typ, number, content }, len)
    }

    fn open(
        &mut self,
        bytes: &mut [u8],
        epoch_bits: u8,
        own_id: Option<usize>,
        number_at: Range<usize>,
        content_at: Range<usize>,
        now: Duration,
    ) -> Result<(ContentType, RecordNumber, Range<usize>), Unread> {
        self.epochs.expire(now);
        // §4.2.2: the most recent epoch with these bits.
        let epoch_bits = u64::from(epoch_bits);
        let mut known = self.epochs.all.iter_mut().rev();
        let known = known.find(|epoch| epoch.number & EPOCH_MASK == epoch_bits);
        // A client sends early data before it can know the server's connection ID and limit.
        let is_early = known.as_ref().map_or(epoch_bits, |epoch| epoch.number) == EARLY_DATA_EPOCH;
        if self.own_ids.newest().is_some() && own_id.is_none() && !is_early {
            return Err(Unread::Malformed);
        }
        let longest = if is_early { MAX_PLAINTEXT + 1 } else { self.max_inner_plaintext };
        if !(TAG_LEN..=MAX_PLAINTEXT + MAX_EXPANSION).contains(&content_at.len()) {
            return Err(Unread::Malformed);
        }
        let epoch = known.ok_or(Unread::WithoutKeys)?;
        let (header, rest) = bytes.split_at_mut(content_at.start);
        let content = &mut rest[..content_at.len()];
        let expected = epoch.window.next();
        let protection = match &mut epoch.keys {
            EpochKeys::Ready(protection) => &*protection,
            EpochKeys::Derived { secret, keys } => &**keys.get_or_insert_with(|| {
                self.has_derived = true;
                Box::new(Protection::new(epoch.suite, secret.traffic()))
            }),
            EpochKeys::Asleep => return Err(Unread::WithoutKeys),
        };
        let opened = protection.open(header, number_at, content, expected);
        let Ok((sequence, len)) = opened else {
            epoch.forged += 1;
            self.epochs.drop_used_up();
            return Err(Unread::Forged);
        };
        // §4.5.1: only after it opened.
        if epoch.window.has_seen(sequence) {
            return Err(Unread::Repeated);
        }
        epoch.window.note(sequence);
        let number = RecordNumber { epoch: epoch.number, sequence };
        if let Some(index) = own_id
            && self.epochs.newest_record() == (number.epoch, sequence + 1)
        {
            self.own_ids.note_newest(index);
        }
        if len > longest {
            let error = protocol(AlertDescription::RECORD_OVERFLOW, "a record is too long inside");
            return Err(Unread::Invalid(error));
        }
        // RFC 8446 §5.4: the content type is the last byte that isn't zero.
        let Some(last) = content[..len].iter().rposition(|byte| *byte != 0) else {
            let error = unexpected_message("a record of nothing but padding");
            return Err(Unread::Invalid(error));
        };
        let typ = ContentType(content[last]);
        let begin = content_at.start;
        Ok((typ, number, begin..begin + last))
    }
}

/// Why a protected record isn't read.
enum Unread {
    Malformed,
    Forged,
    Repeated,
    WithoutKeys,
    Invalid(Error),
}

impl Unread {
    fn of(self, len: usize, counts: &mut DroppedRecords) -> NextRecord {
        let count = match self {
            // It may be kept.
            Self::WithoutKeys => return NextRecord::WithoutKeys(len),
            Self::Invalid(error) => return NextRecord::Invalid(error),
            Self::Malformed => &mut counts.malformed,
            Self::Forged => &mut counts.forged,
            Self::Repeated => &mut counts.repeated,
        };
        *count += 1;
        NextRecord::Dropped(len)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use alloc::vec::Vec;

    use super::super::header::{write_plaintext_header, write_unified_header};
    use super::*;
    use crate::connection_id::ConnectionId;
    use crate::crypto::Suite;
    use crate::schedule::{DATAGRAM, EarlySecret, KeptTrafficSecret, KeyDerivation, TrafficSecret};
    use crate::testing::AES_128_GCM_SHA256;

    pub(in super::super) const EPOCH: u64 = 3;

    pub(in super::super) fn protection() -> Protection {
        protection_of(&AES_128_GCM_SHA256)
    }

    pub(in super::super) fn protection_of(suite: &'static Suite) -> Protection {
        with_secret(suite, |secret| Protection::new(suite, secret))
    }

    /// The secret of [`protection`].
    pub(in super::super) fn kept_secret() -> Box<KeptTrafficSecret> {
        with_secret(&AES_128_GCM_SHA256, |secret| secret.keep())
    }

    fn with_secret<R>(suite: &Suite, use_secret: impl FnOnce(TrafficSecret<'_>) -> R) -> R {
        let kdf = KeyDerivation { hash: suite.hash, profile: &DATAGRAM };
        let secret = EarlySecret::new(kdf, kdf.zeros()).client_early_traffic(&suite.hash.hash(b""));
        use_secret(secret.traffic())
    }

    /// Returns the record with this inner plaintext.
    pub(in super::super) fn sealed(inner: &[u8]) -> Vec<u8> {
        sealed_in(EPOCH, &ConnectionId::default(), inner)
    }

    /// The same for an epoch and a connection ID.
    fn sealed_in(epoch: u64, id: &ConnectionId, inner: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        let number = RecordNumber { epoch, sequence: 0 };
        let at = write_unified_header(&mut record, number, id, None);
        let header_len = record.len();
        record.extend_from_slice(inner);
        record.resize(record.len() + TAG_LEN, 0);
        protection().seal(0, &mut record, header_len, at);
        record
    }

    #[test]
    fn what_only_the_peer_can_have_sealed_is_its_mistake() {
        for (inner, expected) in [
            (&b""[..], AlertDescription::UNEXPECTED_MESSAGE),
            (&[0; 40], AlertDescription::UNEXPECTED_MESSAGE),
            (&[23; MAX_PLAINTEXT + 2], AlertDescription::RECORD_OVERFLOW),
        ] {
            let mut incoming = IncomingRecords::new();
            incoming.epochs.install(EPOCH, protection());
            let mut record = sealed(inner);
            let mut forged = record.clone();
            *forged.last_mut().expect("a tag") ^= 1;
            assert!(matches!(incoming.next(&mut forged, Duration::ZERO), NextRecord::Dropped(_)));
            let NextRecord::Invalid(error) = incoming.next(&mut record, Duration::ZERO) else {
                panic!("{} bytes were read", inner.len());
            };
            assert_eq!(error.alert(), Some(expected), "{} bytes", inner.len());
        }
    }

    #[test]
    fn a_plaintext_record_longer_than_any_may_be_is_dropped() {
        for (len, opens) in [(MAX_PLAINTEXT, true), (MAX_PLAINTEXT + 1, false)] {
            let mut incoming = IncomingRecords::new();
            let mut record = Vec::new();
            let number = RecordNumber { epoch: 0, sequence: 0 };
            write_plaintext_header(&mut record, ContentType::HANDSHAKE, number, len);
            record.resize(record.len() + len, 0);
            let next = incoming.next(&mut record, Duration::ZERO);
            assert_eq!(matches!(next, NextRecord::Opened(..)), opens, "{len}");
        }
    }

    /// It is no forgery, of which keys withstand a number.
    #[test]
    fn a_protected_record_shorter_or_longer_than_any_may_be_is_malformed() {
        for (len, malformed) in [
            (TAG_LEN - 1, 1),
            (TAG_LEN, 0),
            (MAX_PLAINTEXT + MAX_EXPANSION, 0),
            (MAX_PLAINTEXT + MAX_EXPANSION + 1, 1),
        ] {
            let mut incoming = IncomingRecords::new();
            incoming.epochs.install(EPOCH, protection());
            let number = RecordNumber { epoch: EPOCH, sequence: 0 };
            let mut record = Vec::new();
            write_unified_header(&mut record, number, &ConnectionId::default(), None);
            record.resize(record.len() + len, 0);
            assert!(matches!(incoming.next(&mut record, Duration::ZERO), NextRecord::Dropped(_)));
            let forged = incoming.epochs.all[0].forged;
            assert_eq!((incoming.counts.malformed, forged), (malformed, 1 - malformed), "{len}");
        }
    }

    #[test]
    fn what_was_sent_after_the_first_closure_alert_is_dropped() {
        for (first, second, opens) in [
            ((EPOCH, 0), (EPOCH, 7), true),
            ((EPOCH - 1, 5), (EPOCH, 7), false),
            ((EPOCH, 7), (EPOCH - 1, 5), false),
        ] {
            let mut incoming = IncomingRecords::new();
            incoming.epochs.install(EPOCH, protection());
            for (epoch, sequence) in [first, second] {
                incoming.end_at(RecordNumber { epoch, sequence });
            }
            let next = incoming.next(&mut sealed(b"data\x17"), Duration::ZERO);
            assert_eq!(matches!(next, NextRecord::Opened(..)), opens, "{first:?} {second:?}");
        }
    }

    /// On the wire, epoch 5 has the bits of early data's.
    #[test]
    fn only_early_data_may_lack_a_connection_id_and_exceed_the_limit() {
        let id = ConnectionId::new(b"id").expect("short");
        for (epoch, is_early) in [(EARLY_DATA_EPOCH, true), (EARLY_DATA_EPOCH + 4, false)] {
            let mut incoming = IncomingRecords::new();
            incoming.own_ids.agree(id.clone());
            incoming.max_inner_plaintext = 64;
            incoming.epochs.install(epoch, protection());
            let mut without = sealed_in(epoch, &ConnectionId::default(), b"data\x17");
            let opens =
                matches!(incoming.next(&mut without, Duration::ZERO), NextRecord::Opened(..));
            assert_eq!(opens, is_early, "epoch {epoch} without a connection ID");
            let mut incoming = IncomingRecords::new();
            incoming.max_inner_plaintext = 64;
            incoming.epochs.install(epoch, protection());
            let mut long = sealed_in(epoch, &ConnectionId::default(), &[23; 65]);
            let opens = matches!(incoming.next(&mut long, Duration::ZERO), NextRecord::Opened(..));
            assert_eq!(opens, is_early, "epoch {epoch} above the limit");
        }
    }

    #[test]
    fn a_late_record_under_earlier_keys_sets_back_no_connection_id() {
        let ids = [b"first", b"other"].map(|id| ConnectionId::new(id).expect("short"));
        let mut incoming = IncomingRecords::new();
        incoming.own_ids.agree(ids[0].clone());
        incoming.own_ids.add(&ids[1..]).expect("there is room");
        incoming.epochs.install(EPOCH, protection());
        incoming.epochs.install(EPOCH + 1, protection());
        for (epoch, id) in [(EPOCH + 1, &ids[1]), (EPOCH, &ids[0])] {
            let mut record = sealed_in(epoch, id, b"data\x17");
            let opened = incoming.next(&mut record, Duration::ZERO);
            assert!(matches!(opened, NextRecord::Opened(..)), "epoch {epoch}");
            assert_eq!(incoming.own_ids.newest(), Some(&ids[1]), "epoch {epoch}");
        }
    }
}
