//! One ticket key: a secret and the times of its life.

use std::fmt;
use std::time::Duration;

use tessera::crypto::{Provider, RandomFailed};
use zeroize::Zeroizing;

use crate::millis::millis;

/// A ticket key (STEK). Its holder can open every ticket sealed under it, and impersonate every client that
/// has one.
///
/// Its four times are ordered `known_from <= issues_from < issues_until <= opens_until`, and count from the
/// Unix epoch. A key is distributed before `known_from`, so that no server gets a ticket that it can't open
/// yet, and destroyed after `opens_until`.
pub struct TicketKey {
    /// The key's name, in the clear in every ticket: random, never all zeros.
    pub id: [u8; 16],
    /// The secret: uniformly random, never all zeros.
    pub secret: Zeroizing<[u8; 32]>,
    /// Start of opening tickets. Earlier than `issues_from` by at least the servers' maximum clock
    /// difference.
    pub known_from: Duration,
    /// Start of sealing tickets.
    pub issues_from: Duration,
    /// End of sealing tickets, exclusive.
    pub issues_until: Duration,
    /// End of opening tickets, exclusive.
    pub opens_until: Duration,
}

/// How much earlier a generated key opens tickets than it seals them: generous for synchronised clocks.
const KNOWN_BEFORE: Duration = Duration::from_secs(600);

const ENCODING_VERSION: u8 = 1;
const ENCODED_LEN: usize = 1 + 16 + 32 + 4 * 8;

impl TicketKey {
    /// Makes a key that seals for `issue_for` from `issues_from` on, and opens for another `open_for`, which
    /// should be the lifetime of the tickets. It opens from ten minutes before `issues_from`.
    ///
    /// # Errors
    /// Returns an error if the provider has no randomness.
    pub fn generate(
        provider: &Provider,
        issues_from: Duration,
        issue_for: Duration,
        open_for: Duration,
    ) -> Result<Self, RandomFailed> {
        let mut id = [0; 16];
        provider.random.fill(&mut id)?;
        let mut secret = Zeroizing::new([0; 32]);
        provider.random.fill(&mut *secret)?;
        let issues_until = issues_from.saturating_add(issue_for);
        Ok(Self {
            id,
            secret,
            known_from: issues_from.saturating_sub(KNOWN_BEFORE),
            issues_from,
            issues_until,
            opens_until: issues_until.saturating_add(open_for),
        })
    }

    /// Makes a key that seals and opens at any time, for owners that replace it themselves: one that wraps a
    /// snapshot, or other keys.
    pub fn forever(id: [u8; 16], secret: Zeroizing<[u8; 32]>) -> Self {
        Self {
            id,
            secret,
            known_from: Duration::ZERO,
            issues_from: Duration::ZERO,
            issues_until: Duration::MAX,
            opens_until: Duration::MAX,
        }
    }

    /// Encodes the key for distribution to other servers, with times truncated to milliseconds.
    ///
    /// The encoding holds the secret in the clear: transport and store it only wrapped under a key that the
    /// servers load from elsewhere.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        // Full capacity: a vector that grows leaves a copy behind.
        let mut out = Zeroizing::new(Vec::with_capacity(ENCODED_LEN));
        out.push(ENCODING_VERSION);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&*self.secret);
        for (_, time) in self.times() {
            out.extend_from_slice(&millis(time).to_be_bytes());
        }
        out
    }

    /// Decodes the output of [`encode`](Self::encode); returns `None` for anything else, newer versions
    /// included. A ring validates the key when it takes it.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&version, bytes) = bytes.split_first()?;
        let (&id, bytes) = bytes.split_first_chunk()?;
        let (secret, times) = bytes.split_first_chunk()?;
        if version != ENCODING_VERSION || times.len() != 4 * 8 {
            return None;
        }
        let mut times = times
            .chunks_exact(8)
            .filter_map(|time| Some(u64::from_be_bytes(time.try_into().ok()?)))
            .map(Duration::from_millis);
        Some(Self {
            id,
            secret: Zeroizing::new(*secret),
            known_from: times.next()?,
            issues_from: times.next()?,
            issues_until: times.next()?,
            opens_until: times.next()?,
        })
    }

    /// Checks that the key is usable.
    ///
    /// # Errors
    /// Returns an error if the id or the secret is all zeros, or the times are out of order.
    pub fn check(&self) -> Result<(), RingError> {
        let id = self.id;
        if id == [0; 16] {
            return Err(RingError::ZeroId);
        }
        // An unset variable or an empty store yields a secret of zeros.
        if self.secret.iter().fold(0, |any, byte| any | byte) == 0 {
            return Err(RingError::ZeroSecret { id });
        }
        for pair in self.times().windows(2) {
            let [(first, earlier), (second, later)] = pair else { continue };
            let empty = *second == KeyTime::IssuesUntil && earlier == later;
            if earlier > later || empty {
                return Err(RingError::TimesOutOfOrder { id, first: *first, second: *second });
            }
        }
        Ok(())
    }

    fn times(&self) -> [(KeyTime, Duration); 4] {
        [
            (KeyTime::KnownFrom, self.known_from),
            (KeyTime::IssuesFrom, self.issues_from),
            (KeyTime::IssuesUntil, self.issues_until),
            (KeyTime::OpensUntil, self.opens_until),
        ]
    }
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketKey")
            .field("id", &Hex(&self.id))
            .field("known_from", &self.known_from)
            .field("issues_from", &self.issues_from)
            .field("issues_until", &self.issues_until)
            .field("opens_until", &self.opens_until)
            .finish_non_exhaustive()
    }
}

/// Why a ring refused keys. It keeps those it had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RingError {
    /// The id of a key is all zeros.
    ZeroId,
    /// The secret of this key is all zeros.
    ZeroSecret {
        /// The id of the key.
        id: [u8; 16],
    },
    /// Two keys have this id.
    DuplicateId {
        /// The id.
        id: [u8; 16],
    },
    /// Two keys with different ids have the same secret.
    DuplicateSecret {
        /// Id of the first.
        first: [u8; 16],
        /// Id of the second.
        second: [u8; 16],
    },
    /// Two times of this key are in the wrong order, or it never issues.
    TimesOutOfOrder {
        /// The id of the key.
        id: [u8; 16],
        /// The time that should come first.
        first: KeyTime,
        /// The time that should come later.
        second: KeyTime,
    },
}

/// One of the times of a [`TicketKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyTime {
    /// [`TicketKey::known_from`].
    KnownFrom,
    /// [`TicketKey::issues_from`].
    IssuesFrom,
    /// [`TicketKey::issues_until`].
    IssuesUntil,
    /// [`TicketKey::opens_until`].
    OpensUntil,
}

impl fmt::Display for KeyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KnownFrom => "known_from",
            Self::IssuesFrom => "issues_from",
            Self::IssuesUntil => "issues_until",
            Self::OpensUntil => "opens_until",
        })
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroId => f.write_str("the id of a ticket key is all zeros; use random bytes"),
            Self::ZeroSecret { id } => {
                write!(f, "the secret of ticket key {} is all zeros; use 32 random bytes", Hex(id))
            }
            Self::DuplicateId { id } => write!(f, "two ticket keys have the id {}", Hex(id)),
            Self::DuplicateSecret { first, second } => {
                write!(f, "ticket keys {} and {} have the same secret", Hex(first), Hex(second))
            }
            Self::TimesOutOfOrder { id, first, second } => {
                write!(f, "ticket key {}: {first} must come before {second}", Hex(id))
            }
        }
    }
}

impl fmt::Debug for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RingError({self})")
    }
}

impl std::error::Error for RingError {}

/// An id in hexadecimal, as operators know it.
struct Hex<'a>(&'a [u8; 16]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
