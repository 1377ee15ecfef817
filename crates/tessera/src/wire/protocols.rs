//! application_layer_protocol_negotiation (RFC 7301).

use alloc::vec::Vec;

use super::code_points::ExtensionType;
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, decode_error};

/// A list of application protocols, not empty.
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

    /// Iterates over the protocols in the peer's order.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        let mut list = Reader::new(self.0);
        core::iter::from_fn(move || list.vec8().ok())
    }

    /// Returns the only protocol of a server's answer.
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
