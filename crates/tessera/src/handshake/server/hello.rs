//! A ClientHello as received (RFC 8446 §4.1.2).

use crate::error::Error;
use crate::schedule::Profile;
use crate::wire::{ClientHello, HandshakeMessage, HandshakeType};

/// A ClientHello, raw and parsed.
pub(super) struct Hello<'a> {
    /// The message with its frame.
    pub(super) bytes: &'a [u8],
    pub(super) parsed: ClientHello<'a>,
}

impl<'a> Hello<'a> {
    /// Reads a whole ClientHello.
    pub(super) fn read(message: HandshakeMessage<'a>, profile: &Profile) -> Result<Self, Error> {
        let reader = message.reader_for(HandshakeType::CLIENT_HELLO)?;
        let parsed = ClientHello::read(reader, &profile.versions)?;
        Ok(Self { bytes: message.bytes, parsed })
    }
}
