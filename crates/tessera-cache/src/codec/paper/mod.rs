//! The forms of RFC 7924 and BiTHaC in TLS 1.3 (section 9 of the specification): cached_info for the server's
//! Certificate and CertificateRequest, a ticket for the client's Certificate, and messages reduced to their
//! hash. Caches, ticket lifetimes and the effect of a wrong hash are those of the default carrier.
//!
//! The form without a hash, a client's empty Certificate, is not implemented: its transcript doesn't
//! determine to which certificate the proof belongs.

mod client;
#[cfg(test)]
mod mutated;
mod server;
#[cfg(test)]
mod vectors;
mod wire;

pub(super) use self::client::client_codec;
pub(super) use self::server::server_codec;

use tessera::auth::{CodecRefusal, DecodedCertificate, HandshakeEnd};
use tessera::crypto::Hash;
use tessera::wire::{CertificateCompressionAlgorithm as Id, HandshakeType};

use super::offered::OfferedChain;
use crate::bytes::len24;
use crate::chain_hash::{ChainHash, first};
use crate::form::Form;
use crate::ids::{CERTIFICATE, Ticket, TicketBytes};

/// The id stored for tickets of this carrier: all of the default carrier's ids are above it.
const NO_ID: Id = Id(1);

/// Returns the SHA-256 of a CertificateRequest with this body.
fn request_hash(sha256: &dyn Hash, body: &[u8]) -> [u8; 32] {
    let mut running = sha256.start();
    running.update(&[HandshakeType::CERTIFICATE_REQUEST.0]);
    running.update(&len24(body.len()));
    running.update(body);
    first(running.current().as_ref())
}

/// Derives the ticket for a client's chain from a complete handshake.
fn derive(end: &HandshakeEnd<'_>, chain: &ChainHash) -> Option<Ticket> {
    let mut context = [0; 1 + ChainHash::LEN];
    context[0] = CERTIFICATE;
    context[1..].copy_from_slice(&chain.0);
    let mut bytes = TicketBytes::default();
    end.ticket(&context, &mut bytes).ok()?;
    Some(Ticket { bytes, id: NO_ID })
}

/// Expands an abbreviated Certificate, for which this chain is expected; also returns the full length.
fn expand<P>(
    offered: &OfferedChain<P>,
    expected: ChainHash,
    content: &[u8],
) -> Result<(DecodedCertificate, usize), CodecRefusal> {
    let refusal = CodecRefusal::Malformed(wire::CERTIFICATE_IS_MALFORMED);
    let beside = wire::staples_len(content).ok_or(refusal)?;
    let len = match (&offered.form, &offered.pinned) {
        (Form::Whole(chain), _) => chain.body_len(beside),
        (Form::Known(_), Some(pinned)) => pinned.body_len(beside),
        (Form::Known(_), None) => return Err(refusal),
    };
    let decoded = offered.decode(expected, content, len).map_err(|_| refusal)?;
    Ok((decoded, len))
}
