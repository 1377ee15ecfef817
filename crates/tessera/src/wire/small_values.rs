//! The values of the small extensions.

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::reader::Reader;
use super::small_extension::SmallExtension;
use super::writer::Writer;
use crate::error::{Error, illegal_parameter};

/// record_size_limit: the largest record that a side accepts, in bytes of plaintext and content type
/// (RFC 8449).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSizeLimit(pub u16);

impl SmallExtension for RecordSizeLimit {
    const TYPE: ExtensionType = ExtensionType::RECORD_SIZE_LIMIT;

    /// Less than 64 is an error (RFC 8449 §4).
    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        match body.u16()? {
            limit @ 64.. => Ok(Self(limit)),
            _ => {
                // A malformed extension is decode_error, whatever its value.
                body.finish()?;
                Err(illegal_parameter("record_size_limit is below 64"))
            }
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u16(self.0);
    }
}

/// How many tickets a client asks for (RFC 9149).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// After a full handshake.
    pub new_session_count: u8,
    /// After a resumption.
    pub resumption_count: u8,
}

impl TicketRequest {
    /// Returns the request with at most `most` of either.
    pub(crate) fn at_most(self, most: u8) -> Self {
        Self {
            new_session_count: self.new_session_count.min(most),
            resumption_count: self.resumption_count.min(most),
        }
    }
}

impl SmallExtension for TicketRequest {
    const TYPE: ExtensionType = ExtensionType::TICKET_REQUEST;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self { new_session_count: body.u8()?, resumption_count: body.u8()? })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u8(self.new_session_count);
        out.u8(self.resumption_count);
    }
}

/// How many tickets the server expects to send (RFC 9149).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedTickets(pub u8);

impl SmallExtension for ExpectedTickets {
    const TYPE: ExtensionType = ExtensionType::TICKET_REQUEST;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u8().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u8(self.0);
    }
}

/// early_data of a ticket: how much replayable early data the server accepts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxEarlyDataSize(pub u32);

impl SmallExtension for MaxEarlyDataSize {
    const TYPE: ExtensionType = ExtensionType::EARLY_DATA;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u32().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u32(self.0);
    }
}
