//! The codecs of connections: how a client and a server use their caches.

mod client;
mod client_after;
mod client_end;
mod offered;
#[cfg(feature = "paper")]
mod paper;
mod server;
mod server_end;

use core::ops::RangeInclusive;

use tessera::auth::{AskedChain, CertificateContents, HandshakeEnd, PeerCertificate};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::cache::Cache;
use crate::chain::Chain;
use crate::chain_hash::ChainHash;
use crate::form::Form;
use crate::ids::{FIRST_ID, TICKETS, Ticket};

/// The ids that may stand for chains.
const ALL_IDS: RangeInclusive<Id> = Id(FIRST_ID)..=Id(u16::MAX);

/// Derives the tickets for a client's chain from a complete handshake.
fn derive(end: &HandshakeEnd<'_>, chain: &ChainHash) -> Option<[Ticket; TICKETS]> {
    let ticket = |number| {
        let mut derived = [0; Ticket::DERIVED];
        end.ticket(&Ticket::context(number, chain), &mut derived).ok()?;
        Some(Ticket::new(derived))
    };
    Some([ticket(0)?, ticket(1)?])
}

/// Returns what to remember of an accepted peer's chain: its hash if the verifier remembers it. A chain that
/// was `expected`, since it was sent as a hash, need not be hashed again, nor one that the verifier has
/// hashed.
fn learned_form<P>(
    cache: &Cache<P>,
    peer: &PeerCertificate,
    expected: Option<ChainHash>,
    asked: AskedChain<'_>,
) -> Option<(ChainHash, Form)> {
    if let CertificateContents::Known(hash) = peer.contents {
        // The verifier has just judged it by what it remembers.
        let hash = ChainHash(hash);
        return Some((hash, Form::Known(hash)));
    }
    let memory = cache.memory.as_ref();
    let is_known = |hash: &ChainHash| {
        memory.is_some_and(|it| it.pin(&AskedChain { hash: hash.0, ..asked }).is_some())
    };
    let told = expected.or(peer.chain_hash.map(ChainHash));
    if let Some(hash) = told.filter(&is_known) {
        return Some((hash, Form::Known(hash)));
    }
    let chain = Chain::of_peer(peer)?;
    let hash = told.unwrap_or_else(|| chain.hash(cache.sha256));
    let form = match told.is_none() && is_known(&hash) {
        true => Form::Known(hash),
        false => Form::Whole(chain),
    };
    Some((hash, form))
}
