//! cached_info (RFC 7924), the extension of BiTHaC, and abbreviated messages.

use alloc::vec::Vec;

use tessera::auth::CodecRefusal;
use tessera::wire::ExtensionType;

use crate::bytes::{Bytes, put16};
use crate::chain_hash::ChainHash;
use crate::ids::{CERTIFICATE, TicketBytes};
use crate::wire::Content;

/// cached_info.
pub(super) const CACHED_INFO: ExtensionType = ExtensionType(25);

/// CachedInformationType cert_req (RFC 7924 §8.2).
pub(super) const CERTIFICATE_REQUEST: u8 = 2;

/// How many hashes of a type, and how many tickets, a server considers; the others are ignored.
const MOST: usize = 8;

/// cached_info in a ClientHello.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CachedInfo {
    pub(super) certificates: Vec<ChainHash>,
    pub(super) requests: Vec<[u8; 32]>,
}

impl CachedInfo {
    pub(super) fn read(body: &[u8]) -> Result<Self, CodecRefusal> {
        let mut list = Bytes(whole_list(body).ok_or(CACHED_INFO_IS_MALFORMED)?);
        let mut read = Self::default();
        if list.is_empty() {
            return Err(CACHED_INFO_IS_MALFORMED);
        }
        while !list.is_empty() {
            let (typ, hash) = list.u8().zip(list.vec8()).ok_or(CACHED_INFO_IS_MALFORMED)?;
            match (typ, <[u8; 32]>::try_from(hash)) {
                (CERTIFICATE, Ok(hash)) => push(&mut read.certificates, ChainHash(hash)),
                (CERTIFICATE_REQUEST, Ok(hash)) => push(&mut read.requests, hash),
                (CERTIFICATE | CERTIFICATE_REQUEST, Err(_)) => {
                    return Err(CACHED_INFO_IS_MALFORMED);
                }
                _ if hash.is_empty() => return Err(CACHED_INFO_IS_MALFORMED),
                // Unknown types.
                _ => (),
            }
        }
        Ok(read)
    }

    /// Returns `None` if there is nothing to list.
    pub(super) fn write(&self) -> Option<Vec<u8>> {
        let certificates = self.certificates.iter().map(|hash| (CERTIFICATE, &hash.0));
        let requests = self.requests.iter().map(|hash| (CERTIFICATE_REQUEST, hash));
        let mut list = Vec::new();
        for (typ, hash) in certificates.chain(requests) {
            list.extend_from_slice(&[typ, hash.len() as u8]);
            list.extend_from_slice(hash);
        }
        (!list.is_empty()).then(|| vector16(&list))
    }
}

/// cached_info in EncryptedExtensions: what will be abbreviated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CachedInfoAnswer {
    pub(super) certificate: bool,
    pub(super) request: bool,
}

impl CachedInfoAnswer {
    /// Reads the answer to an offer of these types.
    pub(super) fn read(body: &[u8], offered: &CachedInfo) -> Result<Self, CodecRefusal> {
        let list = whole_list(body).filter(|list| !list.is_empty());
        let mut read = Self::default();
        for typ in list.ok_or(CACHED_INFO_IS_MALFORMED)? {
            let (selected, is_offered) = match *typ {
                CERTIFICATE => (&mut read.certificate, !offered.certificates.is_empty()),
                CERTIFICATE_REQUEST => (&mut read.request, !offered.requests.is_empty()),
                _ => return Err(NOT_OFFERED),
            };
            if *selected || !is_offered {
                return Err(NOT_OFFERED);
            }
            *selected = true;
        }
        Ok(read)
    }

    /// Returns `None` if nothing is selected.
    pub(super) fn write(self) -> Option<Vec<u8>> {
        let types = [(self.certificate, CERTIFICATE), (self.request, CERTIFICATE_REQUEST)];
        let types = types.iter().filter(|(selected, _)| *selected).map(|(_, typ)| *typ);
        let list: Vec<u8> = types.collect();
        (!list.is_empty()).then(|| vector16(&list))
    }
}

/// BiTHaC's extension in a ClientHello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hello {
    /// The client takes part, but has no ticket.
    TakesPart,
    /// The client's tickets, each with its index in the list.
    Tickets(Vec<(u16, TicketBytes)>),
}

impl Hello {
    pub(super) fn read(body: &[u8]) -> Result<Self, CodecRefusal> {
        if body.is_empty() {
            return Ok(Self::TakesPart);
        }
        let mut list = Bytes(whole_list(body).ok_or(TICKETS_ARE_MALFORMED)?);
        if list.is_empty() {
            return Err(TICKETS_ARE_MALFORMED);
        }
        let (mut tickets, mut all) = (Vec::new(), Vec::new());
        // A list of less than 2^16 bytes has fewer entries.
        for place in 0.. {
            if list.is_empty() {
                break;
            }
            let (typ, ticket) = list.u8().zip(list.vec8()).ok_or(TICKETS_ARE_MALFORMED)?;
            match (typ, TicketBytes::try_from(ticket)) {
                (CERTIFICATE, Ok(ticket)) => {
                    push(&mut tickets, (place, ticket));
                    all.push(ticket);
                }
                (CERTIFICATE, Err(_)) => return Err(TICKETS_ARE_MALFORMED),
                _ if ticket.is_empty() => return Err(TICKETS_ARE_MALFORMED),
                _ => (),
            }
        }
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(CodecRefusal::Illegal("a ticket is there twice"));
        }
        Ok(Self::Tickets(tickets))
    }

    /// Writes these tickets, which are all for certificates.
    pub(super) fn write(tickets: impl Iterator<Item = TicketBytes>) -> Vec<u8> {
        let mut list = Vec::new();
        for ticket in tickets {
            list.extend_from_slice(&[CERTIFICATE, ticket.len() as u8]);
            list.extend_from_slice(&ticket);
        }
        if list.is_empty() { list } else { vector16(&list) }
    }
}

/// Reads BiTHaC's extension in EncryptedExtensions: the index of the selected ticket, of `offered` ones.
pub(super) fn read_selected_ticket(
    body: &[u8],
    offered: usize,
) -> Result<Option<usize>, CodecRefusal> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut list = Bytes(whole_list(body).ok_or(TICKETS_ARE_MALFORMED)?);
    let mut selected = None;
    while !list.is_empty() {
        let (typ, place) = list.u8().zip(list.u16()).ok_or(TICKETS_ARE_MALFORMED)?;
        let place = usize::from(place);
        // There is only one Certificate, so a second ticket has no use.
        if typ != CERTIFICATE || place >= offered || selected.is_some() {
            return Err(CodecRefusal::Illegal("the server selects a ticket that was not offered"));
        }
        selected = Some(place);
    }
    Ok(selected)
}

/// Writes BiTHaC's extension for EncryptedExtensions, in answer to this ClientHello's.
pub(super) fn write_selected_ticket(hello: &Hello, selected: Option<u16>) -> Vec<u8> {
    match (hello, selected) {
        (Hello::TakesPart, _) => Vec::new(),
        (Hello::Tickets(_), None) => vector16(&[]),
        (Hello::Tickets(_), Some(place)) => {
            let [high, low] = place.to_be_bytes();
            vector16(&[CERTIFICATE, high, low])
        }
    }
}

/// Returns the body of an abbreviated message: its hash, and what follows it.
pub(super) fn abbreviated(content: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(1 + content.len());
    body.push(HASH_LEN);
    body.extend_from_slice(content);
    body
}

/// Reads the content of an abbreviated Certificate's body: the hash, and the staples.
pub(super) fn read_certificate(body: &[u8]) -> Result<&[u8], CodecRefusal> {
    let refusal = CodecRefusal::Malformed(CERTIFICATE_IS_MALFORMED);
    let content = body.split_first().filter(|(len, _)| **len == HASH_LEN).ok_or(refusal)?.1;
    Content::read(content).map(|_| content).ok_or(refusal)
}

/// Reads the hash of an abbreviated CertificateRequest's body.
pub(super) fn read_request(body: &[u8]) -> Result<[u8; 32], CodecRefusal> {
    let hash = match body {
        [HASH_LEN, hash @ ..] => <[u8; 32]>::try_from(hash).ok(),
        _ => None,
    };
    hash.ok_or(CodecRefusal::Malformed(
        "an abbreviated CertificateRequest is not a hash of 32 bytes",
    ))
}

/// Returns the length of the staples in a Certificate's content, without their length fields.
pub(super) fn staples_len(content: &[u8]) -> Option<usize> {
    Some(Content::read(content)?.entries().map(<[u8]>::len).sum())
}

/// Length of a hash.
const HASH_LEN: u8 = 32;

/// Returns the contents of a body that is exactly one list.
fn whole_list(body: &[u8]) -> Option<&[u8]> {
    let mut reader = Bytes(body);
    reader.vec16().filter(|_| reader.is_empty())
}

fn vector16(contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + contents.len());
    put16(&mut out, contents);
    out
}

fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST {
        list.push(item);
    }
}

const CACHED_INFO_IS_MALFORMED: CodecRefusal =
    CodecRefusal::Malformed("cached_info has no list, or a hash of another length");

const TICKETS_ARE_MALFORMED: CodecRefusal =
    CodecRefusal::Malformed("the list of certificate tickets is malformed");

pub(super) const CERTIFICATE_IS_MALFORMED: &str =
    "an abbreviated Certificate is not a hash of 32 bytes, with or without extensions of entries";

const NOT_OFFERED: CodecRefusal =
    CodecRefusal::Illegal("the server selects a type of cached_info twice, or one not offered");

/// The server names a chain or a request that it wasn't offered.
pub(super) const HASH_NOT_OFFERED: CodecRefusal =
    CodecRefusal::Illegal("the server's message stands for one that was not offered");
