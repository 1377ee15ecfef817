//! How much heap a connection over a stream takes at most. The sums are of what may exist together, as the engine asks for
//! it; they follow the target's sizes of types.

use alloc::vec::Vec;
use core::hint::black_box;

use super::config::Common;
use crate::auth::Credential;
use crate::crypto::{HmacState, TAG_LEN};
use crate::error::Error;
use crate::limits::{MAX_PLAINTEXT, MAX_SMALL_MESSAGE, reserve};
use crate::linked::KemAuthentication;
use crate::padding::Padding;
use crate::wire::{SignatureScheme, max_chain};

/// What a record adds to its content: header, content type and tag.
pub(super) const OVERHEAD: usize = 5 + 1 + TAG_LEN;

/// Checks that so many bytes are free, in one block.
pub(super) fn check(needed: usize) -> Result<(), Error> {
    let mut block = Vec::<u8>::new();
    reserve(&mut block, needed)?;
    // An allocation that is never used may be optimized away, and then always succeeds.
    black_box(&mut block);
    Ok(())
}

/// What the primitives of a configuration take at most, in bytes.
#[derive(Default)]
pub(super) struct Primitives {
    /// A key of a suite.
    key: usize,
    /// A hash's output.
    hash: usize,
    /// Key pairs of all groups and their results: a few times as much as they send.
    pub(super) agreements: usize,
    /// An answer to a share.
    pub(super) agreement: usize,
    /// The longest share or reply.
    pub(super) longest_share: usize,
}

impl Primitives {
    pub(super) fn of(common: &Common<'_>) -> Self {
        let mut most = Self::default();
        for suite in common.suites.iter().filter_map(|suite| common.provider.suite(*suite)) {
            most.key = most.key.max(suite.key_heap);
            most.hash = most.hash.max(suite.hash.len());
        }
        for group in common.groups.iter().filter_map(|group| common.provider.group(*group)) {
            let (share, reply) = (group.share_len(), group.reply_len());
            let agreement = 4 * (share + reply) + 128;
            most.agreements += agreement;
            most.agreement = most.agreement.max(agreement);
            most.longest_share = most.longest_share.max(share).max(reply);
        }
        most
    }

    /// Returns what the keys, hashes and secrets of a connection take.
    pub(super) fn keys(&self) -> usize {
        // The secrets of the schedule's steps, and the slab.
        3 * HmacState::LEN + 256 + 3 * self.key + self.hashes()
    }

    /// Returns what the transcript takes, and a copy: a block, a chaining value and a count each.
    pub(super) fn hashes(&self) -> usize {
        2 * 5 * self.hash
    }
}

/// What it takes to answer a peer's certificate of a KEM, in bytes.
#[derive(Default)]
pub(super) struct Encapsulation {
    /// The key, the encapsulation and the secret.
    pub(super) work: usize,
    /// KEMEncapsulation.
    pub(super) message: usize,
}

impl Encapsulation {
    /// Of the largest KEM that this side's verifier accepts.
    pub(super) fn to_peer(common: &Common<'_>) -> Self {
        let Some(verifier) = common.verifier.filter(|_| KemAuthentication::linked().is_some())
        else {
            return Self::default();
        };
        let kems = verifier.schemes().iter().filter_map(|scheme| common.provider.kem(*scheme));
        kems.fold(Self::default(), |most, kem| {
            let (share, reply) = (kem.share_len(), kem.reply_len());
            Self {
                work: most.work.max(5 * share + 4 * reply + 128),
                message: most.message.max(7 + reply),
            }
        })
    }
}

/// Returns what a message of `len` bytes takes that arrives in pieces.
pub(super) fn message(len: usize) -> usize {
    // A buffer that grows moves: the old one lasts while it is copied to one of at most twice its size.
    if len < MAX_SMALL_MESSAGE { len } else { 3 * len }
}

/// Returns what the peer's certificates take once they are read: themselves, and a vector that grows.
pub(super) fn certificates(longest: usize) -> usize {
    longest + 3 * max_chain(longest).next_power_of_two() / 2 * size_of::<Vec<u8>>()
}

/// Returns how long a flight with the longest of these credentials is, in bytes.
pub(super) fn flight(credentials: &[Credential]) -> usize {
    let of = |own: &Credential| {
        let stapled = [&own.ocsp_response, &own.sct_list].into_iter().flatten().map(Vec::len);
        let chain = own.chain.iter().map(|it| 5 + it.len()).chain(stapled).sum::<usize>();
        // With the headers of both, and Finished.
        100 + longest_signature(own.key.schemes()) + chain
    };
    credentials.iter().map(of).max().unwrap_or(0)
}

/// Returns what it takes to sign: the question, with a copy of the certificate, and the signature.
pub(super) fn signing(credentials: &[Credential]) -> usize {
    let of = |own: &Credential| {
        256 + longest_signature(own.key.schemes()) + own.chain.first().map_or(0, Vec::len)
    };
    credentials.iter().map(of).max().unwrap_or(0)
}

/// Returns what it takes to decapsulate: the question, with copies of the certificate and the encapsulation, and the secret.
pub(super) fn decapsulation(common: &Common<'_>) -> usize {
    let of = |own: &Credential| {
        let kem = common.provider.kem(*own.key.schemes().first()?)?;
        Some(256 + kem.reply_len() + own.chain.first().map_or(0, Vec::len))
    };
    common.credentials.iter().filter_map(of).max().unwrap_or(0)
}

/// Returns how long a signature under one of these schemes is at most, in bytes.
fn longest_signature(schemes: &[SignatureScheme]) -> usize {
    let of = |scheme: &SignatureScheme| match *scheme {
        SignatureScheme::ED25519 => 64,
        // A sequence of two integers (RFC 3279 §2.2.3).
        SignatureScheme::ECDSA_SECP256R1_SHA256 => 72,
        SignatureScheme::ECDSA_SECP384R1_SHA384 => 104,
        SignatureScheme::ECDSA_SECP521R1_SHA512 => 139,
        SignatureScheme::MLDSA44 => 2420,
        SignatureScheme::MLDSA65 => 3309,
        // Its owner sends none.
        scheme if scheme.kem().is_some() => 0,
        SignatureScheme::FALCON512_PRE_STANDARD => 666,
        SignatureScheme::FALCON1024_PRE_STANDARD => 1280,
        // ML-DSA-87 has 4,627; no RSA key has as many.
        _ => 5000,
    };
    schemes.iter().map(of).max().unwrap_or(0)
}

/// What is written between two calls, in bytes.
pub(super) struct Written {
    /// The longest message, which is built apart.
    pub(super) message: usize,
    /// The messages that wait for a record together.
    pub(super) flight: usize,
    /// The records, until they are sent.
    pub(super) records: usize,
}

impl Written {
    /// Returns what the three buffers take, which begin with `first` bytes.
    pub(super) fn buffers(&self, first: usize) -> usize {
        let buffers = [self.message, self.flight, self.records];
        // Beyond their first size they grow, to less than twice what they hold, and move, one at a time.
        let grown = buffers.map(|len| if len <= first { first } else { 2 * len });
        let moved = buffers.iter().filter(|len| **len > first).max();
        grown.iter().sum::<usize>() + moved.unwrap_or(&0)
    }
}

/// Returns how long the records of so many bytes are, of which a peer may want short ones (RFC 8449 §4). The last one is
/// padded.
pub(super) fn records(len: usize, padding: Padding) -> usize {
    const SHORTEST: usize = 63;
    len + (1 + len / SHORTEST) * OVERHEAD + longest_padding(padding)
}

/// Returns how much longer padding makes a record at most, in bytes.
pub(super) fn longest_padding(padding: Padding) -> usize {
    padding.padded(1, MAX_PLAINTEXT) - 1
}
