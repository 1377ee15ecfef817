//! The file in which ticket keys survive the process: its version, then the keys, sealed together with the
//! life of the vault that they belong to.

use std::io;
use std::sync::Arc;

use tessera::resume::Incarnation;
use zeroize::Zeroizing;

use super::error::StateProblem;
use super::key::NOW;
use crate::directory::OwnedDirectory;
use crate::keys::{TicketKey, WrappingKeys};

/// Writes the file.
pub(super) struct RingFile {
    pub(super) directory: Arc<OwnedDirectory>,
    pub(super) keys: WrappingKeys,
    pub(super) life: Incarnation,
}

/// Content of the file.
pub(super) struct Ring {
    pub(super) life: Incarnation,
    pub(super) keys: Vec<TicketKey>,
}

/// The last byte is the version.
const MAGIC: &[u8; 8] = b"tsrring\x01";

/// Other data sealed under the same key has another context.
const CONTEXT: &[u8] = b"server state";

impl RingFile {
    /// Replaces the file with these encoded keys.
    pub(super) fn write(&self, keys: &[&[u8]]) -> io::Result<()> {
        let room = keys.iter().map(|key| 2 + key.len()).sum::<usize>();
        // Never grows: a reallocation would leave secrets behind.
        let mut plaintext = Zeroizing::new(Vec::with_capacity(16 + 8 + room));
        plaintext.extend_from_slice(&self.life.vault);
        plaintext.extend_from_slice(&self.life.number.to_be_bytes());
        for key in keys {
            let len = u16::try_from(key.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
            plaintext.extend_from_slice(&len.to_be_bytes());
            plaintext.extend_from_slice(key);
        }
        let sealed = self.keys.wrap(CONTEXT, &plaintext, NOW);
        let sealed = sealed.ok_or_else(|| io::Error::other("no randomness to seal with"))?;
        self.directory.replace("ring", &[MAGIC, &sealed[..]].concat())
    }
}

/// Reads the output of [`RingFile::write`].
pub(super) fn read_ring(bytes: &[u8], keys: &WrappingKeys) -> Result<Ring, StateProblem> {
    let damaged = StateProblem::Damaged;
    let Some((magic, sealed)) = bytes.split_first_chunk::<{ MAGIC.len() }>() else {
        return Err(damaged);
    };
    let ([name @ .., version], [known @ .., ours]) = (magic, MAGIC);
    if name != known {
        return Err(damaged);
    }
    match version {
        version if version > ours => return Err(StateProblem::Newer { version: *version }),
        version if version < ours => return Err(StateProblem::Older { version: *version }),
        _ => (),
    }
    if !keys.has_key_of(sealed).ok_or(StateProblem::Damaged)? {
        return Err(StateProblem::WrongKey);
    }
    let plaintext = keys.unwrap(CONTEXT, sealed, NOW).ok_or(StateProblem::Damaged)?;
    decode(&plaintext).ok_or(damaged)
}

fn decode(plaintext: &[u8]) -> Option<Ring> {
    let (vault, rest) = plaintext.split_first_chunk()?;
    let (number, mut rest) = rest.split_first_chunk()?;
    let life = Incarnation { vault: *vault, number: u64::from_be_bytes(*number) };
    let mut keys = Vec::new();
    while !rest.is_empty() {
        let (len, after) = rest.split_first_chunk()?;
        let (key, after) = after.split_at_checked(u16::from_be_bytes(*len).into())?;
        keys.push(TicketKey::decode(key)?);
        rest = after;
    }
    Some(Ring { life, keys })
}
