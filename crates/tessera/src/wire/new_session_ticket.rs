//! NewSessionTicket (RFC 8446 §4.6.1), with the forward-secret ticket as an extension.

use alloc::vec::Vec;

use super::code_points::{ExtensionType, HandshakeType, NamedGroup};
use super::extensions::{Extensions, read_extensions, write_extension};
use super::grease::Grease;
use super::handshake::write_message;
use super::reader::Reader;
use super::small_extensions::SmallExtensions;
use super::writer::Writer;
use crate::error::{Error, decode_error, illegal_parameter};

/// Length of a forward-secret ticket's id in bytes.
pub const TICKET_ID_LEN: usize = 32;

/// A NewSessionTicket.
pub struct NewSessionTicket<'a> {
    /// Seconds after which the ticket is invalid; at most seven days.
    pub lifetime: u32,
    /// Added to the age that the client reports.
    pub age_add: u32,
    /// Distinguishes the PSK from those of the connection's other tickets.
    pub nonce: &'a [u8],
    /// The ticket itself.
    pub ticket: &'a [u8],
    /// The extensions that are one small value each.
    pub small: SmallExtensions,
    /// The forward-secret companion.
    pub forward_secret: Option<ForwardSecretTicket<'a>>,
    /// Other extensions, written after these; of a received message, all its extensions.
    pub extensions: Extensions<'a>,
    /// GREASE values to write; never read.
    pub grease: Option<Grease>,
}

/// What a client needs for one forward-secret 0-RTT connection; nothing in it is secret. Its wire
/// format is the context of the FS secret.
#[derive(Clone, Copy)]
pub struct ForwardSecretTicket<'a> {
    /// The kind of the one-time key.
    pub kind: NamedGroup,
    /// The id, which names the ticket in the client's flight.
    pub id: &'a [u8; TICKET_ID_LEN],
    /// The one-time public key.
    pub public: &'a [u8],
    /// Seconds after which the key expires.
    pub lifetime: u32,
    /// How much early data the server accepts, in bytes.
    pub max_early_data_size: u32,
}

impl<'a> NewSessionTicket<'a> {
    /// Reads the body of the message. Reads the forward-secret companion only if this client has enabled it,
    /// since its type is from the range for private use, where others may use the same.
    pub fn read(mut reader: Reader<'a>, reads_companion: bool) -> Result<Self, Error> {
        let mut message = Self {
            lifetime: reader.u32()?,
            age_add: reader.u32()?,
            nonce: reader.vec8()?,
            ticket: reader.vec16()?,
            small: SmallExtensions::default(),
            forward_secret: None,
            extensions: Extensions::at(reader),
            grease: None,
        };
        if message.ticket.is_empty() {
            return Err(decode_error("a ticket is empty"));
        }
        if message.lifetime > MAX_LIFETIME {
            return Err(illegal_parameter("ticket_lifetime is above seven days"));
        }
        read_extensions(&mut reader, |typ, mut body| {
            if typ == ExtensionType::FORWARD_SECRET_EARLY_DATA && reads_companion {
                message.forward_secret = Some(ForwardSecretTicket::read(&mut body)?);
                return body.finish();
            }
            // §4.6.1: clients MUST ignore unrecognized extensions.
            message.small.read(HandshakeType::NEW_SESSION_TICKET, typ, body).map(drop)
        })?;
        reader.finish()?;
        Ok(message)
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_message(out, HandshakeType::NEW_SESSION_TICKET, |out| {
            out.u32(self.lifetime);
            out.u32(self.age_add);
            out.vec8(|out| out.bytes(self.nonce));
            out.vec16(|out| out.bytes(self.ticket));
            out.vec16(|out| {
                self.small.write(HandshakeType::NEW_SESSION_TICKET, out);
                if let Some(ticket) = &self.forward_secret {
                    let typ = ExtensionType::FORWARD_SECRET_EARLY_DATA;
                    write_extension(out, typ, |out| ticket.write(out));
                }
                self.extensions.write(out);
                if let Some(grease) = self.grease {
                    grease.write_full_extension(out);
                }
            });
        });
    }
}

/// RFC 8446 §4.6.1: seven days.
pub const MAX_LIFETIME: u32 = 604_800;

impl<'a> ForwardSecretTicket<'a> {
    /// Reads the structure.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Self {
            kind: NamedGroup(reader.u16()?),
            id: reader.array()?,
            public: reader.vec16()?,
            lifetime: reader.u32()?,
            max_early_data_size: reader.u32()?,
        })
    }

    /// Returns the structure in its wire format.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TICKET_ID_LEN + 12 + self.public.len());
        self.write(&mut out);
        out
    }

    /// Appends the structure.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.kind.0);
        out.bytes(self.id);
        out.vec16(|out| out.bytes(self.public));
        out.u32(self.lifetime);
        out.u32(self.max_early_data_size);
    }
}
