//! Session files under a key from elsewhere: kind and version, salt, ciphertext, tag.
//!
//! Every file has its own AEAD key, HKDF-Expand(PRK of the wrapping key, label || salt). Processes that share
//! a directory have no common counter, so nonces would have to be random, and with 96 random bits one key may
//! seal only 2^32 files (NIST SP 800-38D §8.3). 256 bits of salt don't collide, and a key that seals one file
//! may use the zero nonce.
//!
//! A file is bound to its kind, version and salt, and to the server in whose directory it lies.

use std::fmt;
use std::io;

use tessera::crypto::{Aead, Hash, NONCE_LEN, Nonce, Provider, Random, Secret, Suite, TAG_LEN};
use tessera::resume::{ClientSession, SessionImportError};
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

/// Wraps sessions for the disk, and unwraps them.
pub(super) struct Wrapping {
    /// The keys of all files are derived from this.
    prk: Secret,
    /// Its AEAD seals the files.
    suite: &'static Suite,
    /// Derives the keys.
    hash: &'static dyn Hash,
    random: &'static dyn Random,
}

impl Wrapping {
    /// Uses AES-256-GCM if the provider has it, else the AEAD of its first suite with 32-byte keys.
    pub(super) fn new(provider: &Provider, key: &[u8; KEY_LEN]) -> io::Result<Self> {
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        // An unset variable or an empty file yields zeros.
        if key.iter().fold(0, |any, byte| any | byte) == 0 {
            return wrong("the key of a session store is all zeros");
        }
        let fits = |suite: &&'static Suite| suite.aead.key_len() == KEY_LEN;
        let best = provider.suite(CipherSuite::TLS_AES_256_GCM_SHA384).filter(fits);
        let Some(suite) = best.or_else(|| provider.suites.iter().copied().find(fits)) else {
            return wrong("the provider has no suite with keys of 32 bytes");
        };
        // Includes the algorithm: the same key never serves two.
        let mut salt = LABEL.to_vec();
        salt.extend_from_slice(&suite.id.0.to_be_bytes());
        let prk = suite.hash.extract(&salt, key);
        Ok(Self { prk, suite, hash: suite.hash, random: provider.random })
    }

    /// Wraps an exported session with this server.
    pub(super) fn wrap(&self, server: &str, session: &[u8]) -> io::Result<Vec<u8>> {
        let mut salt = [0; SALT_LEN];
        self.random.fill(&mut salt).map_err(io::Error::other)?;
        // Never grows: a reallocation would leave plaintext behind.
        let len = HEADER_LEN + session.len() + TAG_LEN;
        let mut file = Zeroizing::new(Vec::with_capacity(len));
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&salt);
        file.extend_from_slice(session);
        let (header, in_out) = file.split_at_mut(HEADER_LEN);
        let tag = self.file_key(&salt).seal(&ZERO, &bound_to(header, server), in_out);
        file.extend_from_slice(&tag);
        // It holds no secret any more.
        Ok(std::mem::take(&mut *file))
    }

    /// Opens a file of this server's directory in place.
    fn unwrap<'a>(&self, server: &str, file: &'a mut [u8]) -> Option<&'a [u8]> {
        let (header, in_out) = file.split_at_mut_checked(HEADER_LEN)?;
        let salt = header.last_chunk()?;
        if in_out.len() < TAG_LEN {
            return None;
        }
        let len = self.file_key(salt).open(&ZERO, &bound_to(header, server), in_out).ok()?;
        in_out.get(..len)
    }

    fn file_key(&self, salt: &[u8; SALT_LEN]) -> Box<dyn Aead> {
        let info = [LABEL, salt].concat();
        let mut key = Zeroizing::new([0; KEY_LEN]);
        self.hash.expand(self.prk.expose(), &info, &mut *key);
        self.suite.aead.key(&*key)
    }
}

impl fmt::Debug for Wrapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapping").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// Reads a file of this server's directory. A store with a key reads only wrapped files, one without a key
/// only unwrapped ones.
pub(super) fn import(
    wrapping: Option<&Wrapping>,
    server: &str,
    file: &mut [u8],
) -> Result<ClientSession, SessionFileError> {
    let session = match (wrapping, file.starts_with(MAGIC)) {
        (None, false) => file,
        (None, true) => return Err(SessionFileError::Keyless),
        (Some(_), false) => return Err(SessionFileError::Unwrapped),
        (Some(wrapping), true) => wrapping.unwrap(server, file).ok_or(SessionFileError::Closed)?,
    };
    ClientSession::import(session).map_err(SessionFileError::Session)
}

/// Why a file yields no session.
#[derive(Debug)]
pub(super) enum SessionFileError {
    /// It is wrapped, and there is no key.
    Keyless,
    /// It is not wrapped, and there is a key.
    Unwrapped,
    /// The key doesn't open it.
    Closed,
    /// Its content is no valid session.
    Session(SessionImportError),
}

impl fmt::Display for SessionFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyless => f.write_str("a wrapped session, but the store has no key"),
            Self::Unwrapped => {
                f.write_str("not a wrapped session, but a store with a key reads no others")
            }
            Self::Closed => {
                f.write_str("a wrapped session of another key or server, or a damaged one")
            }
            Self::Session(error) => error.fmt(f),
        }
    }
}

/// Returns the additional data. The header's length is fixed, so the encoding is injective.
fn bound_to(header: &[u8], server: &str) -> Vec<u8> {
    [header, server.as_bytes()].concat()
}

/// Kind and version of the file.
const MAGIC: &[u8] = b"tessera wrapped session 1\n";

/// Separates this use of the key from any other use of the same bytes.
const LABEL: &[u8] = b"tessera wrapped session v1";

const KEY_LEN: usize = 32;
const SALT_LEN: usize = 32;
const HEADER_LEN: usize = MAGIC.len() + SALT_LEN;

/// How many bytes a wrapped file is longer than its session.
pub(super) const OVERHEAD: u64 = (HEADER_LEN + TAG_LEN) as u64;

const ZERO: Nonce = Nonce([0; NONCE_LEN]);
