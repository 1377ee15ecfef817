//! A ClientHello as it came (RFC 8446 §4.1.2).

use crate::error::Error;
use crate::wire::{ClientHello, HANDSHAKE_HEADER_LEN, Reader, Versions};

/// A ClientHello as bytes and as what they say.
pub(super) struct Hello<'a> {
    /// The message with its frame.
    pub(super) bytes: &'a [u8],
    pub(super) parsed: ClientHello<'a>,
}

impl<'a> Hello<'a> {
    /// Reads a whole ClientHello.
    pub(super) fn read(bytes: &'a [u8], versions: &Versions) -> Result<Self, Error> {
        let body = bytes.get(HANDSHAKE_HEADER_LEN..).unwrap_or_default();
        Ok(Self { bytes, parsed: ClientHello::read(Reader::new(body), versions)? })
    }
}
