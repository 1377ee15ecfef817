//! The extension cached_certificates, and the content of a CompressedCertificate for a cached chain.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tessera::auth::{certificate_entries, joined};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::bytes::{Bytes, put8, put16, room};
use crate::chain_hash::ChainHash;
use crate::ids::{FIRST_ID, TICKETS, TicketBytes};

/// cached_certificates in a ClientHello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hello<'a> {
    /// The client takes part, but has no ticket.
    TakesPart,
    /// The client's tickets, random bytes for missing ones; and a fleet ticket.
    Tickets([TicketBytes; TICKETS], Option<&'a [u8]>),
}

/// What is wrong with a peer's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// Its length is not allowed.
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

    /// Writes it; `None` without memory for it.
    pub(crate) fn write(self) -> Option<Vec<u8>> {
        match self {
            Self::TakesPart => Some(Vec::new()),
            Self::Tickets(tickets, sealed) => {
                let tickets = tickets.as_flattened();
                let mut out = room(tickets.len() + sealed.map_or(0, |it| 1 + it.len()))?;
                out.extend_from_slice(tickets);
                if let Some(sealed) = sealed {
                    put8(&mut out, sealed);
                }
                Some(out)
            }
        }
    }
}

/// A fleet ticket as a server sends it, in a NewSessionTicket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FleetTicket {
    /// The id that the server then offers.
    pub(crate) id: Id,
    /// 1 to 255 bytes.
    pub(crate) sealed: Box<[u8]>,
}

impl FleetTicket {
    /// Parses it; `None` if it is invalid, or without memory for it.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Bytes(body);
        let id = Id(reader.u16()?);
        let sealed = joined(&[whole_sealed(&mut reader)?]).ok()?.into_boxed_slice();
        (id.0 >= FIRST_ID).then_some(Self { id, sealed })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.id.0.to_be_bytes().to_vec();
        put8(&mut out, &self.sealed);
        out
    }
}

/// Reads `opaque sealed<1..255>`, with nothing after it.
fn whole_sealed<'a>(reader: &mut Bytes<'a>) -> Option<&'a [u8]> {
    reader.vec8().filter(|sealed| !sealed.is_empty() && reader.is_empty())
}

/// The content of a CompressedCertificate for a cached chain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content<'a> {
    /// The chain.
    pub(crate) chain: ChainHash,
    /// The extensions of its entries, in order, each list with its two-byte length; nothing if no entry has any.
    pub(crate) extensions: &'a [u8],
}

impl<'a> Content<'a> {
    /// Parses it; `None` if it is too short, or encodes extensions where the form without them would be
    /// shorter.
    pub(crate) fn read(content: &'a [u8]) -> Option<Self> {
        let mut reader = Bytes(content);
        let chain = ChainHash(reader.array()?);
        let extensions = reader.0;
        let mut some = extensions.is_empty();
        while !reader.is_empty() {
            some |= !reader.vec16()?.is_empty();
        }
        some.then_some(Self { chain, extensions })
    }

    /// Iterates over the extensions of its entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let mut reader = Bytes(self.extensions);
        core::iter::from_fn(move || reader.vec16())
    }

    /// Writes it for the body of a Certificate with this chain; `None` if that is not a valid body.
    pub(crate) fn write(chain: &ChainHash, body: &[u8]) -> Option<Vec<u8>> {
        let extensions = certificate_entries(body)?.map(|entry| entry.extensions);
        let some = extensions.clone().any(|it| !it.is_empty());
        let extensions = extensions.filter(|_| some);
        let len = extensions.clone().map(|it| 2 + it.len()).sum::<usize>();
        let mut out = Vec::with_capacity(ChainHash::LEN + len);
        out.extend_from_slice(&chain.0);
        extensions.for_each(|it| put16(&mut out, it));
        Some(out)
    }
}
