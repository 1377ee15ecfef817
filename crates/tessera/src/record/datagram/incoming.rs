//! Opens the records of datagrams (RFC 9147 §4).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use super::connection_ids::OwnConnectionIds;
use super::header::RecordHeader;
use super::protection::Protection;
use super::record_number::{EARLY_DATA_EPOCH, RecordNumber};
use super::replay_window::ReplayWindow;
use crate::crypto::{Suite, TAG_LEN};
use crate::error::{Error, protocol, unexpected_message};
use crate::limits::{MAX_EXPANSION, MAX_PLAINTEXT};
use crate::schedule::KeptTrafficSecret;
use crate::wire::{AlertDescription, ContentType};

/// The receiving half.
pub(crate) struct IncomingRecords {
    /// The epochs with keys, in ascending order.
    pub(super) epochs: Vec<ReadEpoch>,
    pub(crate) own_ids: OwnConnectionIds,
    /// The most content and type of one protected record; this side may have lowered it (RFC 8449).
    pub(crate) max_inner_plaintext: usize,
    /// The number of a closure alert: records after it are ignored (§5.10).
    pub(super) closed_at: Option<RecordNumber>,
    /// Keys were derived for a record: the stack has copies.
    has_derived: bool,
    /// The epoch whose keys the peer was asked to replace, because of forgeries.
    pub(super) asked_in: u64,
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

pub(super) struct ReadEpoch {
    pub(super) number: u64,
    pub(super) suite: &'static Suite,
    pub(super) keys: EpochKeys,
    pub(super) window: ReplayWindow,
    /// How many records didn't open.
    pub(super) forged: u64,
    /// When the keys are dropped.
    pub(super) until: Option<Duration>,
}

pub(super) enum EpochKeys {
    Ready(Protection),
    /// Rarely needed, they are derived for each record.
    Derived(Box<KeptTrafficSecret>),
    /// The association sleeps.
    Asleep,
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
            epochs: Vec::new(),
            own_ids: OwnConnectionIds::default(),
            max_inner_plaintext: MAX_PLAINTEXT + 1,
            closed_at: None,
            has_derived: false,
            asked_in: 0,
            counts: DroppedRecords::default(),
        }
    }

    /// Opens records of this epoch from now on, and no longer those whose numbers have the same low bits: none could name
    /// it (§4.2.2), and a peer that changes its keys often would fill the memory.
    pub(super) fn install(&mut self, number: u64, protection: Protection) {
        self.epochs.retain(|epoch| (epoch.number ^ number) & EPOCH_MASK != 0);
        self.epochs.push(ReadEpoch {
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
        self.epochs.last().map_or(0, |epoch| epoch.number)
    }

    /// Returns epoch and sequence number of the newest record that opened.
    pub(crate) fn newest_record(&self) -> (u64, u64) {
        let opened = self.epochs.iter().rev().find(|epoch| epoch.window.next() > 0);
        opened.map_or((0, 0), |epoch| (epoch.number, epoch.window.next()))
    }

    /// Drops the keys of all epochs below `number` at `until`, unless they go earlier.
    pub(crate) fn retire_below(&mut self, number: u64, until: Duration) {
        for epoch in self.epochs.iter_mut().filter(|epoch| epoch.number < number) {
            epoch.until = Some(epoch.until.map_or(until, |earlier| earlier.min(until)));
        }
    }

    /// Drops the keys of an epoch.
    pub(crate) fn drop_epoch(&mut self, number: u64) {
        self.epochs.retain(|epoch| epoch.number != number);
    }

    /// Returns when the next keys are dropped.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.epochs.iter().filter_map(|epoch| epoch.until).min()
    }

    /// Drops the keys whose time is over.
    pub(crate) fn expire(&mut self, now: Duration) {
        self.epochs.retain(|epoch| epoch.until.is_none_or(|until| now < until));
    }

    /// Keeps the secret of an epoch instead of its keys, which take more than a kilobyte.
    pub(crate) fn keep_secret(&mut self, number: u64, secret: Box<KeptTrafficSecret>) {
        if let Some(epoch) = self.epochs.iter_mut().find(|epoch| epoch.number == number) {
            epoch.keys = EpochKeys::Derived(secret);
        }
    }

    /// Returns whether keys were derived for a record, once.
    pub(crate) fn take_has_derived(&mut self) -> bool {
        core::mem::take(&mut self.has_derived)
    }

    /// Returns whether all keys but the newest can be derived again.
    pub(crate) fn can_sleep(&self) -> bool {
        let earlier = self.epochs.split_last().map_or(&[][..], |(_, earlier)| earlier);
        earlier.iter().all(|epoch| matches!(epoch.keys, EpochKeys::Derived(_)))
    }

    /// Drops the keys, which [`wake`](Self::wake) derives again.
    pub(crate) fn sleep(&mut self) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.keys = EpochKeys::Asleep;
        }
    }

    /// Frees unused memory.
    pub(crate) fn release(&mut self) {
        self.epochs.shrink_to_fit();
    }

    /// Returns the suite of the newest keys, if they are to be derived again.
    pub(crate) fn sleeping(&self) -> Option<&'static Suite> {
        let asleep = |epoch: &&ReadEpoch| matches!(epoch.keys, EpochKeys::Asleep);
        self.epochs.last().filter(asleep).map(|epoch| epoch.suite)
    }

    /// Sets the newest keys again.
    pub(super) fn wake(&mut self, protection: Protection) {
        if let Some(epoch) = self.epochs.last_mut() {
            epoch.keys = EpochKeys::Ready(protection);
        }
    }

    /// Drops all keys.
    pub(crate) fn close(&mut self) {
        self.epochs.clear();
    }

    /// Notes a closure alert: later records are ignored.
    pub(crate) fn end_at(&mut self, number: RecordNumber) {
        let earliest = self.closed_at.map_or(number, |earlier| earlier.min(number));
        self.closed_at = Some(earliest);
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
        self.epochs.last().map_or(Forgeries::Few, of)
    }

    /// Notes that the peer was asked to replace the newest keys. It does so with its next data, however late that is.
    pub(crate) fn note_asked(&mut self) {
        self.asked_in = self.newest();
    }

    /// Drops earlier keys under which as many records were forged as they withstand.
    fn drop_used_up(&mut self) {
        let newest = self.newest();
        let withstands = |epoch: &ReadEpoch| epoch.forged < epoch.suite.integrity_limit;
        self.epochs.retain(|epoch| epoch.number == newest || withstands(epoch));
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
        self.expire(now);
        // §4.2.2: the most recent epoch with these bits.
        let epoch_bits = u64::from(epoch_bits);
        let mut known = self.epochs.iter_mut().rev();
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
        let opened = match &epoch.keys {
            EpochKeys::Ready(protection) => protection.open(header, number_at, content, expected),
            EpochKeys::Derived(secret) => {
                self.has_derived = true;
                let protection = Protection::new(epoch.suite, secret.traffic());
                protection.open(header, number_at, content, expected)
            }
            EpochKeys::Asleep => return Err(Unread::WithoutKeys),
        };
        let Ok((sequence, len)) = opened else {
            epoch.forged += 1;
            self.drop_used_up();
            return Err(Unread::Forged);
        };
        // §4.5.1: only after it opened.
        if epoch.window.has_seen(sequence) {
            return Err(Unread::Repeated);
        }
        epoch.window.note(sequence);
        let number = RecordNumber { epoch: epoch.number, sequence };
        if let Some(index) = own_id
            && self.newest_record() == (number.epoch, sequence + 1)
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

/// The bits of an epoch's number that a record has.
const EPOCH_MASK: u64 = 3;

/// How many records were forged under the newest keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgeries {
    Few,
    NearLimit,
    AtLimit,
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
    use super::super::header::write_unified_header;
    use super::*;
    use crate::connection_id::ConnectionId;
    use crate::schedule::{DATAGRAM, EarlySecret, KeyDerivation};
    use crate::testing::AES_128_GCM_SHA256;

    pub(in super::super) const EPOCH: u64 = 3;

    pub(in super::super) fn protection() -> Protection {
        protection_of(&AES_128_GCM_SHA256)
    }

    fn protection_of(suite: &'static Suite) -> Protection {
        let kdf = KeyDerivation { hash: suite.hash, profile: &DATAGRAM };
        let secret = EarlySecret::new(kdf, kdf.zeros()).client_early_traffic(&suite.hash.hash(b""));
        Protection::new(suite, secret.traffic())
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
            incoming.install(EPOCH, protection());
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
    fn earlier_keys_go_after_as_many_forgeries_as_they_withstand() {
        let Suite { id, hash, aead, .. } = AES_128_GCM_SHA256;
        let suite = Box::leak(Box::new(Suite::new(id, hash, aead).with_integrity_limit(4)));
        let mut incoming = IncomingRecords::new();
        incoming.install(EPOCH, protection_of(suite));
        incoming.install(EPOCH + 1, protection_of(suite));
        let forged = [&sealed(b"data\x17")[..], b"!"].concat();
        for _ in 0..4 {
            assert!(incoming.epochs.len() == 2 && incoming.forgeries() == Forgeries::Few);
            let dropped = incoming.next(&mut forged.clone(), Duration::ZERO);
            assert!(matches!(dropped, NextRecord::Dropped(_)));
        }
        let late = incoming.next(&mut sealed(b"data\x17"), Duration::ZERO);
        assert!(matches!(late, NextRecord::WithoutKeys(_)));
        assert_eq!((incoming.newest(), incoming.forgeries()), (EPOCH + 1, Forgeries::Few));
    }

    /// On the wire, epoch 5 has the bits of early data's.
    #[test]
    fn only_early_data_may_lack_a_connection_id_and_exceed_the_limit() {
        let id = ConnectionId::new(b"id").expect("short");
        for (epoch, is_early) in [(EARLY_DATA_EPOCH, true), (EARLY_DATA_EPOCH + 4, false)] {
            let mut incoming = IncomingRecords::new();
            incoming.own_ids.agree(id.clone());
            incoming.max_inner_plaintext = 64;
            incoming.install(epoch, protection());
            let mut without = sealed_in(epoch, &ConnectionId::default(), b"data\x17");
            let opens =
                matches!(incoming.next(&mut without, Duration::ZERO), NextRecord::Opened(..));
            assert_eq!(opens, is_early, "epoch {epoch} without a connection ID");
            let mut incoming = IncomingRecords::new();
            incoming.max_inner_plaintext = 64;
            incoming.install(epoch, protection());
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
        incoming.install(EPOCH, protection());
        incoming.install(EPOCH + 1, protection());
        for (epoch, id) in [(EPOCH + 1, &ids[1]), (EPOCH, &ids[0])] {
            let mut record = sealed_in(epoch, id, b"data\x17");
            let opened = incoming.next(&mut record, Duration::ZERO);
            assert!(matches!(opened, NextRecord::Opened(..)), "epoch {epoch}");
            assert_eq!(incoming.own_ids.newest(), Some(&ids[1]), "epoch {epoch}");
        }
    }

    #[test]
    fn a_peer_that_changes_its_keys_often_fills_no_memory() {
        let mut incoming = IncomingRecords::new();
        for epoch in 2..100 {
            incoming.install(epoch, protection());
            assert!(incoming.epochs.len() <= 4 && incoming.newest() == epoch);
        }
    }
}
