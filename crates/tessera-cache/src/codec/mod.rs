//! The codecs of connections: what a client and a server do with their caches.

mod client;
mod server;
mod shown;

use core::ops::RangeInclusive;

use tessera::auth::HandshakeEnd;
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::chain_hash::ChainHash;
use crate::ids::{FIRST_ID, TICKETS, Ticket};

/// The ids that may stand for chains.
const ALL_IDS: RangeInclusive<Id> = Id(FIRST_ID)..=Id(u16::MAX);

/// The tickets that a complete handshake gives for a client's chain.
fn derive(end: &HandshakeEnd<'_>, chain: &ChainHash) -> Option<[Ticket; TICKETS]> {
    let ticket = |number| {
        let mut derived = [0; Ticket::DERIVED];
        end.ticket(&Ticket::context(number, chain), &mut derived).ok()?;
        Some(Ticket::new(derived))
    };
    Some([ticket(0)?, ticket(1)?])
}
