//! ticket_request (RFC 9149).

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::reader::Reader;
use super::small_extensions::SmallExtension;
use super::writer::Writer;
use crate::error::Error;

/// How many tickets a client asks for (RFC 9149).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// After a full handshake.
    pub new_session_count: u8,
    /// After a resumption.
    pub resumption_count: u8,
}

impl TicketRequest {
    /// No more than `most` of either.
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

/// How many tickets the server means to send.
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
