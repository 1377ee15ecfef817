//! Writes records.

use alloc::vec::Vec;

use super::incoming::HEADER_LEN;
use super::output::Output;
use super::protection::Protection;
use crate::crypto::TAG_LEN;
use crate::handshake::Epoch;
use crate::limits::MAX_PLAINTEXT;
use crate::padding::Padding;
use crate::role::Role;
use crate::wire::{ContentType, ProtocolVersion, Writer};

/// The sending half.
pub(crate) struct OutgoingRecords {
    pub(crate) epoch: Epoch,
    protection: Option<Protection>,
    /// Handshake messages that may share records.
    pending: Vec<u8>,
    /// The first size of buffers for them, in bytes.
    first_messages: u16,
    /// The most plaintext of one record; the peer may have lowered it (RFC 8449).
    max_plaintext: usize,
    /// RFC 8446 §D.4: each side sends one for middleboxes, a server right after its first message, a
    /// client right before its second flight.
    sent_change_cipher_spec: bool,
    /// close_notify or a fatal alert was sent: nothing may follow it (RFC 8446 §6.1).
    closed: bool,
    role: Role,
    /// RFC 8446 §5.1: an initial ClientHello goes out as TLS 1.0.
    version: ProtocolVersion,
    /// How much early data may still be sent, padding included.
    pub(crate) early_data_left: usize,
    pub(crate) padding: Padding,
}

impl OutgoingRecords {
    pub(crate) fn new(role: Role, first_messages: u16) -> Self {
        Self {
            epoch: Epoch::Initial,
            protection: None,
            pending: Vec::new(),
            first_messages,
            max_plaintext: MAX_PLAINTEXT,
            sent_change_cipher_spec: false,
            closed: false,
            role,
            version: match role {
                Role::Client => ProtocolVersion::TLS1_0,
                Role::Server => ProtocolVersion::TLS1_2,
            },
            early_data_left: 0,
            padding: Padding::None,
        }
    }

    /// Adds a handshake message to those that the next flush sends.
    pub(crate) fn handshake(&mut self, message: &[u8], output: &mut Output) {
        if self.pending.is_empty() && self.pending.capacity() < message.len() {
            // Without a copy of what was sent.
            self.pending = Vec::with_capacity(message.len().max(self.first_messages.into()));
        }
        self.pending.extend_from_slice(message);
        if self.role == Role::Server && !self.sent_change_cipher_spec {
            self.flush(output);
            self.change_cipher_spec(output);
        }
    }

    /// Sends the pending handshake messages in as few records as possible.
    pub(crate) fn flush(&mut self, output: &mut Output) {
        if self.pending.is_empty() {
            return;
        }
        let pending = core::mem::take(&mut self.pending);
        for fragment in pending.chunks(self.max_plaintext()) {
            self.record(ContentType::HANDSHAKE, fragment, output);
        }
        self.version = ProtocolVersion::TLS1_2;
        self.pending = pending;
        self.pending.clear();
    }

    pub(crate) fn install(&mut self, epoch: Epoch, protection: Protection) {
        self.epoch = epoch;
        self.protection = Some(protection).filter(|_| !self.closed);
    }

    pub(crate) fn uninstall(&mut self) {
        self.epoch = Epoch::Initial;
        self.protection = None;
    }

    /// Sends as much data as fits the output; returns how much.
    pub(crate) fn application_data(&mut self, data: &[u8], output: &mut Output) -> usize {
        let mut written = 0;
        while written < data.len() {
            let room = output.room().saturating_sub(OVERHEAD);
            let most = self.most_of(ContentType::APPLICATION_DATA);
            let fits = if room < most { self.padding.fitting(room) } else { most };
            let fragment = &data[written..data.len().min(written + fits)];
            if fragment.is_empty() || self.nears_limit() {
                break;
            }
            let padded = self.record(ContentType::APPLICATION_DATA, fragment, output);
            if self.epoch == Epoch::EarlyData {
                self.early_data_left -= padded;
            }
            written += fragment.len();
        }
        written
    }

    /// Returns how much data fits one record of `room` bytes.
    pub(crate) fn data_in_place(&self, room: usize) -> usize {
        let (room, most) = (room.saturating_sub(OVERHEAD), self.max_plaintext());
        if room < most { self.padding.fitting(room) } else { most }
    }

    /// Protects application data in the caller's `record`, in which `len` bytes of it follow the room for a header; returns
    /// how long the record is. They must be as many as [`data_in_place`](Self::data_in_place) allows.
    pub(crate) fn protect_in_place(&mut self, record: &mut [u8], len: usize) -> usize {
        let padded = self.padding.padded(len, self.max_plaintext());
        match (&mut self.protection, record.get_mut(..padded + OVERHEAD)) {
            (Some(protection), Some(record)) => {
                protect(protection, ContentType::APPLICATION_DATA, len, record);
                record.len()
            }
            _ => 0,
        }
    }

    /// Returns whether the keys must be changed before more data is sent.
    pub(crate) fn nears_limit(&self) -> bool {
        self.protection.as_ref().is_some_and(Protection::nears_limit)
    }

    /// Sends one record; returns the length of its content and padding.
    pub(crate) fn record(
        &mut self,
        typ: ContentType,
        content: &[u8],
        output: &mut Output,
    ) -> usize {
        if self.closed {
            return 0;
        }
        let padded = match self.protection {
            None => content.len(),
            Some(_) => self.padding.padded(content.len(), self.most_of(typ)),
        };
        if self.begins_second_flight(typ) {
            self.change_cipher_spec(output);
        }
        let version = self.version.0;
        if typ == ContentType::HANDSHAKE {
            output.reserve_for_flight(padded + OVERHEAD, self.first_messages.into());
        }
        let out = output.buffer();
        // Reserve now: a buffer that grows with plaintext in it leaves a copy behind.
        out.reserve(padded + OVERHEAD);
        let start = out.len();
        match &mut self.protection {
            None => {
                out.u8(typ.0);
                out.u16(version);
                out.u16(content.len() as u16);
                out.bytes(content);
            }
            Some(protection) => {
                out.bytes(&[0; HEADER_LEN]);
                out.bytes(content);
                out.resize(start + padded + OVERHEAD, 0);
                protect(protection, typ, content.len(), &mut out[start..]);
            }
        }
        padded
    }

    /// Returns whether a record of this type begins a client's second flight: early data, or the response to
    /// the server's flight. An alert in plaintext is no flight.
    fn begins_second_flight(&self, typ: ContentType) -> bool {
        let first_flight_sent = self.version == ProtocolVersion::TLS1_2;
        self.role == Role::Client
            && first_flight_sent
            && (self.protection.is_some() || typ == ContentType::HANDSHAKE)
    }

    fn change_cipher_spec(&mut self, output: &mut Output) {
        if !self.closed && !self.sent_change_cipher_spec {
            self.sent_change_cipher_spec = true;
            output.buffer().bytes(&CHANGE_CIPHER_SPEC_RECORD);
        }
    }

    /// Stops sending and drops the keys.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.protection = None;
    }

    /// RFC 8449 §4: the limit includes the content type, and applies to protected records.
    pub(crate) fn limit_records(&mut self, peer_limit: u16) {
        self.max_plaintext = MAX_PLAINTEXT.min(usize::from(peer_limit) - 1);
    }

    /// Returns the maximum of content and padding in one record.
    fn most_of(&self, typ: ContentType) -> usize {
        match (typ, self.epoch) {
            (ContentType::APPLICATION_DATA, Epoch::EarlyData) => {
                self.max_plaintext().min(self.early_data_left)
            }
            _ => self.max_plaintext(),
        }
    }

    fn max_plaintext(&self) -> usize {
        if self.protection.is_some() { self.max_plaintext } else { MAX_PLAINTEXT }
    }

    pub(crate) fn release(&mut self) {
        self.pending = Vec::new();
    }
}

/// Writes all of a record but its content, which is in place, and protects it. What is between content and tag is padding.
fn protect(protection: &mut Protection, typ: ContentType, len: usize, record: &mut [u8]) {
    let inside = (record.len() - HEADER_LEN) as u16;
    let (header, rest) = record.split_at_mut(HEADER_LEN);
    header[0] = ContentType::APPLICATION_DATA.0;
    header[1..3].copy_from_slice(&ProtocolVersion::TLS1_2.0.to_be_bytes());
    header[3..].copy_from_slice(&inside.to_be_bytes());
    let (inner, tag) = rest.split_at_mut(rest.len() - TAG_LEN);
    inner[len] = typ.0;
    // §5.4: zeros after the content type.
    inner[len + 1..].fill(0);
    tag.copy_from_slice(&protection.seal(header, inner));
}

const CHANGE_CIPHER_SPEC_RECORD: [u8; 6] = [20, 3, 3, 0, 1, 1];

/// Header, content type and tag: the overhead of a protected record.
const OVERHEAD: usize = HEADER_LEN + 1 + TAG_LEN;

#[cfg(test)]
mod tests {
    use core::num::NonZeroU16;

    use super::*;
    use crate::schedule::{EarlySecret, KeyDerivation, STREAM};
    use crate::testing::AES_128_GCM_SHA256;

    /// A buffer that grows leaves its contents in the old memory.
    #[test]
    fn an_output_does_not_grow_once_plaintext_is_in_it() {
        let suite = &AES_128_GCM_SHA256;
        let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };
        let secret = EarlySecret::new(kdf, kdf.zeros()).client_early_traffic(&suite.hash.hash(b""));
        let mut outgoing = OutgoingRecords::new(Role::Client, 1024);
        outgoing.install(Epoch::Application, Protection::new(suite, secret.traffic()));
        outgoing.padding = Padding::MultipleOf(NonZeroU16::new(10_000).expect("not zero"));
        let mut output = Output::new();
        let written = outgoing.application_data(b"secret", &mut output);
        assert_eq!((written, output.as_slice().len()), (6, 10_000 + OVERHEAD));
        // It grew once, to what it needed: a second time would have doubled it.
        assert_eq!(output.buffer().capacity(), 10_000 + OVERHEAD);
    }
}
