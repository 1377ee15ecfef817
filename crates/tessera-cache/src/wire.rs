//! The extension cached_certificates, and what a CompressedCertificate of a cached chain holds.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tessera::auth::certificate_entries;
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::bytes::{Bytes, put8, put16};
use crate::chain_hash::ChainHash;
use crate::ids::{FIRST_ID, TICKETS, TicketBytes};

/// cached_certificates in a ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hello<'a> {
    /// The client takes part, and has no ticket.
    TakesPart,
    /// The client's tickets, random where it has none; and a fleet ticket.
    Tickets([TicketBytes; TICKETS], Option<&'a [u8]>),
}

/// What is wrong with an extension of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// Its length is none that it may have.
    Length,
    /// The two tickets are the same.
    EqualTickets,
}

impl<'a> Hello<'a> {
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        if body.is_empty() {
            return Ok(Self::TakesPart);
        }
        let mut reader = Bytes(body);
        let tickets = reader.array().zip(reader.array());
        let (one, other) = tickets.ok_or(Malformed::Length)?;
        let sealed = match reader.is_empty() {
            true => None,
            false => Some(whole_sealed(&mut reader).ok_or(Malformed::Length)?),
        };
        if one == other {
            return Err(Malformed::EqualTickets);
        }
        Ok(Self::Tickets([one, other], sealed))
    }

    pub(crate) fn write(self) -> Vec<u8> {
        match self {
            Self::TakesPart => Vec::new(),
            Self::Tickets(tickets, sealed) => {
                let mut out = tickets.concat();
                if let Some(sealed) = sealed {
                    put8(&mut out, sealed);
                }
                out
            }
        }
    }
}

/// A fleet ticket as servers give it, in a NewSessionTicket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FleetTicket {
    /// What the server then offers.
    pub(crate) id: Id,
    /// 1 to 255 bytes.
    pub(crate) sealed: Box<[u8]>,
}

impl FleetTicket {
    /// Reads it; `None` if it is none.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Bytes(body);
        let id = Id(reader.u16()?);
        let sealed = whole_sealed(&mut reader)?.into();
        (id.0 >= FIRST_ID).then_some(Self { id, sealed })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.id.0.to_be_bytes().to_vec();
        put8(&mut out, &self.sealed);
        out
    }
}

/// `opaque sealed<1..255>`, and nothing after it.
fn whole_sealed<'a>(reader: &mut Bytes<'a>) -> Option<&'a [u8]> {
    reader.vec8().filter(|sealed| !sealed.is_empty() && reader.is_empty())
}

/// What a CompressedCertificate of a cached chain holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content<'a> {
    /// The chain.
    pub(crate) chain: ChainHash,
    /// The extensions of its entries in their order; none if no entry has any.
    pub(crate) extensions: Vec<&'a [u8]>,
}

impl<'a> Content<'a> {
    /// Reads it; `None` if there is too little, or extensions in a form that would be shorter without.
    pub(crate) fn read(content: &'a [u8]) -> Option<Self> {
        let mut reader = Bytes(content);
        let chain = ChainHash(reader.array()?);
        let mut extensions = Vec::new();
        while !reader.is_empty() {
            extensions.push(reader.vec16()?);
        }
        let some = extensions.iter().any(|it| !it.is_empty());
        (some || extensions.is_empty()).then_some(Self { chain, extensions })
    }

    /// Writes it for the body of a Certificate with this chain; `None` if that is no body.
    pub(crate) fn write(chain: &ChainHash, body: &[u8]) -> Option<Vec<u8>> {
        let mut out = chain.0.to_vec();
        let mut some = false;
        for entry in certificate_entries(body)? {
            some |= !entry.extensions.is_empty();
            put16(&mut out, entry.extensions);
        }
        if !some {
            out.truncate(ChainHash::LEN);
        }
        Some(out)
    }
}
