//! The frame of a handshake message (RFC 8446 §4).

use alloc::vec::Vec;

use super::code_points::HandshakeType;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, unexpected_message};

/// Length of the frame in bytes: the type and a three-byte length.
pub const HANDSHAKE_HEADER_LEN: usize = 4;

/// One whole handshake message, read in place.
#[derive(Clone, Copy)]
pub struct HandshakeMessage<'a> {
    /// Its type.
    pub typ: HandshakeType,
    /// What follows the frame.
    pub body: &'a [u8],
    /// Frame and body: what the transcript hashes.
    pub bytes: &'a [u8],
}

impl<'a> HandshakeMessage<'a> {
    /// Returns the first whole message of `bytes`, or `None` if more bytes are needed.
    pub fn split_from(bytes: &'a [u8]) -> Option<Self> {
        let len = Self::len_of(bytes)?;
        let message = bytes.get(..len)?;
        let body = &message[HANDSHAKE_HEADER_LEN..];
        Some(Self { typ: HandshakeType(message[0]), body, bytes: message })
    }

    /// Returns the length of the first message of `bytes`, frame included, as soon as its frame has arrived.
    pub fn len_of(bytes: &[u8]) -> Option<usize> {
        let [_, a, b, c] = *bytes.first_chunk::<HANDSHAKE_HEADER_LEN>()?;
        Some(HANDSHAKE_HEADER_LEN + u32::from_be_bytes([0, a, b, c]) as usize)
    }

    /// Returns a reader of the body if the message is of type `typ`; otherwise the peer is out of turn.
    pub fn reader_for(&self, typ: HandshakeType) -> Result<Reader<'a>, Error> {
        if self.typ == typ {
            Ok(Reader::new(self.body))
        } else {
            Err(unexpected_message("a handshake message came out of turn"))
        }
    }
}

/// Appends a message with its frame.
pub fn write_message(out: &mut Vec<u8>, typ: HandshakeType, body: impl FnOnce(&mut Vec<u8>)) {
    out.u8(typ.0);
    out.vec24(body);
}
