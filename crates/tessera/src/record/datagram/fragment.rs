//! One fragment of a handshake message (RFC 9147 §5.5).

use alloc::vec::Vec;
use core::ops::Range;

use crate::error::{Error, decode_error};
use crate::wire::{HandshakeType, Reader, Writer};

/// A part of a handshake message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment<'a> {
    pub(crate) typ: HandshakeType,
    /// The length of the whole message, without its frame.
    pub(crate) message_len: usize,
    pub(crate) message_seq: u16,
    pub(crate) offset: usize,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Fragment<'a> {
    /// Reads the next fragment of a record.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let typ = HandshakeType(reader.u8()?);
        let message_len = reader.u24()?;
        let message_seq = reader.u16()?;
        let offset = reader.u24()?;
        let bytes = reader.vec24()?;
        if offset + bytes.len() > message_len {
            return Err(decode_error("a fragment extends beyond its message"));
        }
        Ok(Self { typ, message_len, message_seq, offset, bytes })
    }

    /// Appends the header of a fragment that has `range` of its message's body.
    pub(super) fn write_header(
        out: &mut Vec<u8>,
        (typ, message_len, message_seq): (HandshakeType, usize, u16),
        range: Range<usize>,
    ) {
        out.u8(typ.0);
        out.u24(message_len);
        out.u16(message_seq);
        out.u24(range.start);
        out.u24(range.len());
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes.len()
    }
}

/// The length of a fragment's header, in bytes.
pub(crate) const FRAGMENT_HEADER_LEN: usize = 12;
