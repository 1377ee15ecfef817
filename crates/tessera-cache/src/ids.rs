//! Ids that stand for chains in compress_certificate, and the tickets of clients.

use tessera::crypto::Hash;
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::chain_hash::{ChainHash, first};

/// The first id that stands for chains: the upper quarter of RFC 8879 §7.3's private-use range.
pub(crate) const FIRST_ID: u16 = 0xc000;

/// Returns the id of a chain in one handshake between two ends that take part: to observers that don't know
/// the chain it is a random number that changes each time.
pub(crate) fn salted_id(sha256: &dyn Hash, client_random: &[u8; 32], chain: &ChainHash) -> Id {
    const LABEL: &[u8; 17] = b"tessera cached id";
    let mut salted = [0; LABEL.len() + 32 + ChainHash::LEN];
    let (label, rest) = salted.split_at_mut(LABEL.len());
    let (random, hash) = rest.split_at_mut(32);
    label.copy_from_slice(LABEL);
    random.copy_from_slice(client_random);
    hash.copy_from_slice(&chain.0);
    id_of(first(sha256.hash(&salted).as_ref()))
}

/// Returns the id of a chain for peers that don't take part. It is constant, so observers recognise it.
pub(crate) fn public_id(chain: &ChainHash) -> Id {
    id_of(first(&chain.0))
}

fn id_of(bytes: [u8; 2]) -> Id {
    Id(FIRST_ID | u16::from_be_bytes(bytes))
}

/// Makes an id from random bytes; it stands for a chain because this end has assigned it.
pub(crate) fn random_id(bytes: [u8; 2]) -> Id {
    id_of(bytes)
}

/// What stands for a client's chain in its next ClientHello, and the id that the server then offers. Both
/// ends derive it when a handshake is complete. It is sent only once, ever.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) bytes: TicketBytes,
    pub(crate) id: Id,
}

/// A ticket on the wire.
pub(crate) type TicketBytes = [u8; 8];

/// The part of a ticket that a server keeps: dropping two bytes saves four megabytes per million clients, at
/// the price that one random ticket in a hundred million matches a client by chance, with an id that fits
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptTicket {
    pub(crate) bytes: [u8; Self::LEN],
    pub(crate) id: Id,
}

impl KeptTicket {
    pub(crate) const LEN: usize = 6;

    pub(crate) fn of(ticket: Ticket) -> Self {
        Self { bytes: Self::bytes(&ticket.bytes), id: ticket.id }
    }

    pub(crate) fn bytes(ticket: &TicketBytes) -> [u8; Self::LEN] {
        first(ticket)
    }
}

/// How many tickets a handshake yields: the current one, and a spare.
pub(crate) const TICKETS: usize = 2;

impl Ticket {
    /// Makes the ticket from this output of HKDF-Expand-Label.
    pub(crate) fn new(derived: [u8; Self::DERIVED]) -> Self {
        let [bytes @ .., a, b] = derived;
        Self { bytes, id: id_of([a, b]) }
    }

    /// How many bytes are derived for a ticket.
    pub(crate) const DERIVED: usize = 10;

    /// Returns the context for deriving a ticket: its number in the handshake, the type of information (a
    /// certificate), and the client's chain.
    pub(crate) fn context(number: u8, chain: &ChainHash) -> [u8; 2 + ChainHash::LEN] {
        let mut context = [0; 2 + ChainHash::LEN];
        context[0] = number;
        context[1] = CERTIFICATE;
        context[2..].copy_from_slice(&chain.0);
        context
    }
}

/// CachedInformationType cert (RFC 7924 §8.2).
pub(crate) const CERTIFICATE: u8 = 1;
