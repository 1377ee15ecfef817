//! The small extensions: names, protocols, sizes and counts.

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// Reads the client's server_name: the host name as sent (RFC 6066 §3).
pub fn read_server_name<'a>(mut reader: Reader<'a>) -> Result<Option<&'a str>, Error> {
    let mut list = Reader::new(reader.vec16()?);
    reader.finish()?;
    if list.is_empty() {
        return Err(decode_error("server_name is empty"));
    }
    let mut host_name = None;
    while !list.is_empty() {
        let typ = list.u8()?;
        let name = list.vec16()?;
        if typ != HOST_NAME {
            continue;
        }
        if host_name.is_some() {
            return Err(illegal_parameter("server_name has two host names"));
        }
        let printable =
            !name.is_empty() && name.len() <= 255 && name.iter().all(u8::is_ascii_graphic);
        let name = core::str::from_utf8(name).ok().filter(|_| printable);
        host_name = Some(name.ok_or(illegal_parameter("server_name is not a host name"))?);
    }
    Ok(host_name)
}

/// Writes the client's server_name.
pub fn write_server_name(out: &mut Vec<u8>, name: &str) {
    write_extension(out, ExtensionType::SERVER_NAME, |out| {
        out.vec16(|out| {
            out.u8(HOST_NAME);
            out.vec16(|out| out.bytes(name.as_bytes()));
        });
    });
}

const HOST_NAME: u8 = 0;

/// A list of application protocols, not empty (RFC 7301).
#[derive(Clone, Copy)]
pub struct Protocols<'a>(&'a [u8]);

impl<'a> Protocols<'a> {
    /// Reads and checks the list.
    pub fn read(mut reader: Reader<'a>) -> Result<Self, Error> {
        let listed = reader.vec16()?;
        reader.finish()?;
        let mut list = Reader::new(listed);
        if list.is_empty() {
            return Err(decode_error("the list of application protocols is empty"));
        }
        while !list.is_empty() {
            if list.vec8()?.is_empty() {
                return Err(decode_error("an application protocol is empty"));
            }
        }
        Ok(Self(listed))
    }

    /// The protocols in the peer's order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut list = Reader::new(self.0);
        core::iter::from_fn(move || list.vec8().ok())
    }

    /// The only protocol of a server's answer.
    pub fn only(self) -> Result<&'a [u8], Error> {
        let mut protocols = self.iter();
        match (protocols.next(), protocols.next()) {
            (Some(protocol), None) => Ok(protocol),
            _ => Err(decode_error("the server chose not one application protocol")),
        }
    }
}

/// Writes a list of application protocols.
pub fn write_protocols<'p>(out: &mut Vec<u8>, protocols: impl Iterator<Item = &'p [u8]>) {
    write_extension(out, ExtensionType::ALPN, |out| {
        out.vec16(|out| protocols.for_each(|protocol| out.vec8(|out| out.bytes(protocol))));
    });
}

/// Reads record_size_limit; less than 64 is an error (RFC 8449 §4).
pub fn read_record_size_limit(mut reader: Reader<'_>) -> Result<u16, Error> {
    let limit = reader.u16()?;
    reader.finish()?;
    if limit < 64 {
        return Err(illegal_parameter("record_size_limit is below 64"));
    }
    Ok(limit)
}

/// Writes record_size_limit.
pub fn write_record_size_limit(out: &mut Vec<u8>, limit: u16) {
    write_extension(out, ExtensionType::RECORD_SIZE_LIMIT, |out| out.u16(limit));
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
    /// Reads the extension.
    pub fn read(mut reader: Reader<'_>) -> Result<Self, Error> {
        let request = Self { new_session_count: reader.u8()?, resumption_count: reader.u8()? };
        reader.finish()?;
        Ok(request)
    }

    /// No more than `most` of either.
    pub(crate) fn at_most(self, most: u8) -> Self {
        Self {
            new_session_count: self.new_session_count.min(most),
            resumption_count: self.resumption_count.min(most),
        }
    }

    /// Writes the extension.
    pub fn write(self, out: &mut Vec<u8>) {
        write_extension(out, ExtensionType::TICKET_REQUEST, |out| {
            out.u8(self.new_session_count);
            out.u8(self.resumption_count);
        });
    }
}

/// Writes an extension that is a list of code points with a length of two bytes.
pub fn write_code_points(out: &mut Vec<u8>, typ: ExtensionType, listed: impl Iterator<Item = u16>) {
    write_extension(out, typ, |out| out.vec16(|out| listed.for_each(|code| out.u16(code))));
}

/// Writes an extension without contents.
pub fn write_empty(out: &mut Vec<u8>, typ: ExtensionType) {
    write_extension(out, typ, |_| ());
}
