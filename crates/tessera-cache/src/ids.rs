//! Numbers that stand for chains in compress_certificate, and the tickets of clients.

use tessera::crypto::Hash;
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::chain_hash::{ChainHash, first};

/// The ids that stand for chains: the upper quarter of what RFC 8879 §7.3 leaves for private use.
pub(crate) const FIRST_ID: u16 = 0xc000;

/// The id of a chain in one handshake between two ends that take part: whoever doesn't know the chain
/// sees a random number, another one each time.
pub(crate) fn salted_id(sha256: &dyn Hash, client_random: &[u8; 32], chain: &ChainHash) -> Id {
    let mut running = sha256.start();
    running.update(b"tessera cached id");
    running.update(client_random);
    running.update(&chain.0);
    id_of(first(running.current().as_ref()))
}

/// The id of a chain for peers that don't take part. It is always the same: observers recognise it.
pub(crate) fn public_id(chain: &ChainHash) -> Id {
    id_of(first(&chain.0))
}

fn id_of(bytes: [u8; 2]) -> Id {
    Id(FIRST_ID | u16::from_be_bytes(bytes))
}

/// An id that stands for a chain because this end said so; these bytes are random.
pub(crate) fn random_id(bytes: [u8; 2]) -> Id {
    id_of(bytes)
}

/// What stands for a client's chain in its next ClientHello, and the id that the server then offers. Both
/// ends derive it when a handshake is complete. It is sent once, ever.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) bytes: TicketBytes,
    pub(crate) id: Id,
}

/// A ticket as it travels.
pub(crate) type TicketBytes = [u8; 8];

/// As much of a ticket as a server keeps: with two bytes less a million clients take four megabytes less, and one
/// random ticket in a hundred million is taken for somebody's, whose id then fits nobody.
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

/// How many tickets a handshake gives: the current one, and a spare.
pub(crate) const TICKETS: usize = 2;

impl Ticket {
    /// The ticket in this output of HKDF-Expand-Label.
    pub(crate) fn new(derived: [u8; Self::DERIVED]) -> Self {
        let [bytes @ .., a, b] = derived;
        Self { bytes, id: id_of([a, b]) }
    }

    /// How many bytes are derived for a ticket.
    pub(crate) const DERIVED: usize = 10;

    /// The context that a ticket is derived with: which of a handshake's it is, that it stands for a
    /// certificate, and the client's chain.
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
