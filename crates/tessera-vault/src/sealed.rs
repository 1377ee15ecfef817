//! The form of a sealed ticket: version, key id, salt, ciphertext, tag.
//!
//! Every ticket has an AEAD key of its own, HKDF-Expand(PRK of the ticket key, label || salt). Many
//! servers seal under one ticket key without counting together, so nonces would have to be random;
//! with the 96 bits of an AEAD nonce a fleet may seal only 2^32 tickets per key (NIST SP 800-38D
//! §8.3), and nobody counts for the fleet. 256 bits of salt don't collide, and a key that seals one
//! message may do so with the nonce zero. It costs one HMAC per ticket.
//!
//! The header is additional data, so no two byte strings are the same ticket: single-use registers
//! hash tickets as they come.

use tessera::crypto::{Aead, NONCE_LEN, Nonce, Provider, Random, Secret, Suite, TAG_LEN};
use tessera::resume::SessionState;
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const ID_LEN: usize = 16;
const SALT_LEN: usize = 32;
const HEADER_LEN: usize = 1 + ID_LEN + SALT_LEN;

/// NewSessionTicket has two bytes for a ticket's length (RFC 8446 §4.6.1).
const MAX_LEN: usize = u16::MAX as usize;

const LABEL: &[u8] = b"tessera ticket v1";

const KEY_LEN: usize = 32;

/// The algorithms that seal tickets. All servers that share keys have to choose the same.
#[derive(Clone, Copy)]
pub(crate) struct Sealing {
    suite: &'static Suite,
    random: &'static dyn Random,
}

impl Sealing {
    /// AES-256-GCM with SHA-384 where the provider has it, else its first suite with 32-byte keys.
    pub(crate) fn new(provider: &Provider) -> Option<Self> {
        let fits = |suite: &&'static Suite| suite.aead.key_len() == KEY_LEN;
        let suite = provider
            .suite(CipherSuite::TLS_AES_256_GCM_SHA384)
            .filter(fits)
            .or_else(|| provider.suites.iter().copied().find(fits))?;
        Some(Self { suite, random: provider.random })
    }

    /// The PRK that all tickets of a key are derived from. The suite is in it: the same secret never
    /// serves two algorithms.
    pub(crate) fn prk(&self, secret: &[u8; 32]) -> Secret {
        let mut salt = LABEL.to_vec();
        salt.extend_from_slice(&self.suite.id.0.to_be_bytes());
        self.suite.hash.extract(&salt, secret)
    }

    /// Seals a session under a key; `None` if there is no randomness or the session is too large.
    pub(crate) fn seal(
        &self,
        id: &[u8; ID_LEN],
        prk: &Secret,
        session: &SessionState,
    ) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_LEN];
        self.random.fill(&mut salt).ok()?;
        let plaintext = session.encode();
        let len = HEADER_LEN + plaintext.len() + TAG_LEN;
        if len > MAX_LEN {
            return None;
        }
        // Never grows: a reallocation would leave plaintext behind.
        let mut ticket = Vec::with_capacity(len);
        ticket.push(VERSION);
        ticket.extend_from_slice(id);
        ticket.extend_from_slice(&salt);
        ticket.extend_from_slice(&plaintext);
        let (header, in_out) = ticket.split_at_mut(HEADER_LEN);
        let tag = self.ticket_key(prk, &salt).seal(&ZERO, header, in_out);
        ticket.extend_from_slice(&tag);
        Some(ticket)
    }

    /// Opens a ticket with the key that it names.
    pub(crate) fn open(&self, prk: &Secret, ticket: &Parsed<'_>) -> Option<SessionState> {
        let mut in_out = Zeroizing::new(ticket.sealed.to_vec());
        let key = self.ticket_key(prk, ticket.salt);
        let len = key.open(&ZERO, ticket.header, &mut in_out).ok()?;
        SessionState::decode(in_out.get(..len)?)
    }

    fn ticket_key(&self, prk: &Secret, salt: &[u8; SALT_LEN]) -> Box<dyn Aead> {
        let mut info = [0; LABEL.len() + SALT_LEN];
        info[..LABEL.len()].copy_from_slice(LABEL);
        info[LABEL.len()..].copy_from_slice(salt);
        let mut key = Zeroizing::new([0; KEY_LEN]);
        self.suite.hash.expand(prk.expose(), &info, &mut *key);
        self.suite.aead.key(&*key)
    }
}

const ZERO: Nonce = Nonce([0; NONCE_LEN]);

/// A ticket of this version, not yet opened.
pub(crate) struct Parsed<'a> {
    header: &'a [u8],
    pub(crate) id: &'a [u8; ID_LEN],
    salt: &'a [u8; SALT_LEN],
    sealed: &'a [u8],
}

impl<'a> Parsed<'a> {
    /// Takes an identity apart; `None` if it is no ticket of this version.
    pub(crate) fn read(ticket: &'a [u8]) -> Option<Self> {
        let (header, sealed) = ticket.split_at_checked(HEADER_LEN)?;
        let (&version, rest) = header.split_first()?;
        let (id, salt) = rest.split_first_chunk()?;
        let well_formed = version == VERSION && sealed.len() >= TAG_LEN && ticket.len() <= MAX_LEN;
        well_formed.then_some(Self { header, id, salt: salt.first_chunk()?, sealed })
    }
}
