//! The headers of records: plaintext, and the unified header of protected ones (RFC 9147 §4).

use alloc::vec::Vec;
use core::ops::Range;

use super::record_number::RecordNumber;
use crate::connection_id::ConnectionId;
use crate::wire::{ContentType, ProtocolVersion, Writer};

/// A record of a datagram, by its header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RecordHeader {
    /// A DTLSPlaintext.
    Plaintext { typ: ContentType, number: RecordNumber, content: Range<usize> },
    /// A DTLSCiphertext, whose number is encrypted. The header begins with the record.
    Protected {
        /// The low two bits of the epoch.
        epoch_bits: u8,
        /// Which of the own connection IDs it names.
        own_id: Option<usize>,
        /// Where the encrypted number is; the length of the header follows from `content`.
        number: Range<usize>,
        content: Range<usize>,
    },
}

impl RecordHeader {
    /// Reads the header at the beginning of `bytes`, whose records may name one of these connection IDs. `None`: the
    /// rest of the datagram can't be read.
    pub(super) fn read(bytes: &[u8], own_ids: &[ConnectionId]) -> Option<Self> {
        match ContentType(*bytes.first()?) {
            typ @ (ContentType::ALERT | ContentType::HANDSHAKE | ContentType::ACK) => {
                Self::read_plaintext(typ, bytes)
            }
            ContentType(first) if first & FIXED_MASK == FIXED => {
                Self::read_unified(first, bytes, own_ids)
            }
            _ => None,
        }
    }

    fn read_plaintext(typ: ContentType, bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<PLAINTEXT_HEADER_LEN>()?;
        // The version is ignored for all purposes (§4).
        let [_, _, _, e0, e1, n0, n1, n2, n3, n4, n5, l0, l1] = *header;
        let number = RecordNumber {
            epoch: u16::from_be_bytes([e0, e1]).into(),
            sequence: u64::from_be_bytes([0, 0, n0, n1, n2, n3, n4, n5]),
        };
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let content = PLAINTEXT_HEADER_LEN..PLAINTEXT_HEADER_LEN + len;
        (number.epoch == 0 && content.end <= bytes.len()).then_some(Self::Plaintext {
            typ,
            number,
            content,
        })
    }

    fn read_unified(first: u8, bytes: &[u8], own_ids: &[ConnectionId]) -> Option<Self> {
        let mut at = 1;
        let mut own_id = None;
        if first & HAS_CONNECTION_ID != 0 {
            let named = |id: &ConnectionId| !id.is_empty() && bytes[at..].starts_with(id.as_ref());
            let index = own_ids.iter().position(named)?;
            at += own_ids[index].len();
            own_id = Some(index);
        }
        let number = at..at + if first & LONG_NUMBER != 0 { 2 } else { 1 };
        at = number.end;
        let content = if first & HAS_LENGTH != 0 {
            let len = bytes.get(at..at + 2)?;
            at += 2;
            at..at + usize::from(u16::from_be_bytes([len[0], len[1]]))
        } else {
            at..bytes.len().max(at)
        };
        (content.end <= bytes.len()).then_some(Self::Protected {
            epoch_bits: first & EPOCH_BITS,
            own_id,
            number,
            content,
        })
    }

    /// Returns where the record ends.
    pub(super) fn end(&self) -> usize {
        match self {
            Self::Plaintext { content, .. } | Self::Protected { content, .. } => content.end,
        }
    }
}

/// Appends the header of a plaintext record with `len` bytes of content.
pub(super) fn write_plaintext_header(
    out: &mut Vec<u8>,
    typ: ContentType,
    number: RecordNumber,
    len: usize,
) {
    out.u8(typ.0);
    out.u16(ProtocolVersion::DTLS1_2.0);
    out.u16(number.epoch as u16);
    out.bytes(&number.sequence.to_be_bytes()[2..]);
    out.u16(len as u16);
}

/// Appends a unified header with a number of 16 bits, not encrypted yet; returns where the number is in `out`. Without
/// `len` the record extends to the end of the datagram.
pub(super) fn write_unified_header(
    out: &mut Vec<u8>,
    number: RecordNumber,
    peer_id: &ConnectionId,
    len: Option<usize>,
) -> Range<usize> {
    let mut first = FIXED | LONG_NUMBER | (number.epoch as u8 & EPOCH_BITS);
    if !peer_id.is_empty() {
        first |= HAS_CONNECTION_ID;
    }
    if len.is_some() {
        first |= HAS_LENGTH;
    }
    out.u8(first);
    out.bytes(peer_id.as_ref());
    let at = out.len();
    out.u16(number.sequence as u16);
    if let Some(len) = len {
        out.u16(len as u16);
    }
    at..at + 2
}

/// Returns the length of the unified header that [`write_unified_header`] writes.
pub(super) fn unified_header_len(peer_id: &ConnectionId, has_len: bool) -> usize {
    1 + peer_id.len() + 2 + if has_len { 2 } else { 0 }
}

/// The length of a plaintext record's header, in bytes.
pub(super) const PLAINTEXT_HEADER_LEN: usize = 13;

/// The first byte of a unified header: 001CSLEE (§4, Figure 3).
const FIXED_MASK: u8 = 0b1110_0000;
const FIXED: u8 = 0b0010_0000;
const HAS_CONNECTION_ID: u8 = 0b0001_0000;
const LONG_NUMBER: u8 = 0b0000_1000;
const HAS_LENGTH: u8 = 0b0000_0100;
const EPOCH_BITS: u8 = 0b0000_0011;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(bytes: &[u8]) -> ConnectionId {
        ConnectionId::new(bytes).expect("short enough")
    }

    #[test]
    fn headers_are_read_as_they_were_written() {
        let number = RecordNumber { epoch: 6, sequence: 0x1234_5678 };
        for peer_id in [id(b""), id(b"\x20an ID")] {
            for len in [Some(3), None] {
                let mut record = Vec::new();
                let at = write_unified_header(&mut record, number, &peer_id, len);
                let start = record.len();
                record.extend_from_slice(b"abc");
                let read = RecordHeader::read(&record, core::slice::from_ref(&peer_id));
                assert_eq!(record[at.clone()], [0x56, 0x78]);
                let expected = RecordHeader::Protected {
                    epoch_bits: 2,
                    own_id: (!peer_id.is_empty()).then_some(0),
                    number: at,
                    content: start..start + 3,
                };
                assert_eq!(read, Some(expected), "{peer_id:?} {len:?}");
            }
        }
        let mut record = Vec::new();
        let number = RecordNumber { epoch: 0, sequence: 0xffff_ffff_ffff };
        write_plaintext_header(&mut record, ContentType::HANDSHAKE, number, 2);
        record.extend_from_slice(b"abc");
        let content = PLAINTEXT_HEADER_LEN..PLAINTEXT_HEADER_LEN + 2;
        let typ = ContentType::HANDSHAKE;
        let expected = RecordHeader::Plaintext { typ, number, content };
        assert_eq!(RecordHeader::read(&record, &[]), Some(expected));
    }

    #[test]
    fn what_is_no_record_of_dtls_1_3_is_dropped() {
        let own = [id(b"own")];
        for datagram in [
            &b""[..],
            // DTLS 1.2: application data, and with a connection ID.
            &[23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            &[25, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            // A plaintext record of another epoch, and one that is cut off.
            &[22, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0],
            &[22, 254, 253, 0, 0],
            // A protected record that is cut off.
            &[0b0010_1100, 0, 0, 0, 2, 0],
            &[0b0010_0100, 0, 0],
            &[0b0010_1000],
            // The connection ID of another association.
            b"\x38oth\0\0abcdef",
            b"\x38ow",
            // STUN, and QUIC.
            &[0x01, 0x01, 0, 0],
            &[0xc3, 0, 0, 0, 1],
        ] {
            assert_eq!(RecordHeader::read(datagram, &own), None, "{datagram:?}");
        }
    }
}
