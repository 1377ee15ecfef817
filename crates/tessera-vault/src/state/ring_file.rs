//! The file in which ticket keys survive the process, sealed together with the life of the vault that they belong to.

use std::io;
use std::sync::Arc;

use tessera::resume::Incarnation;
use zeroize::Zeroizing;

use super::error::StateProblem;
use super::sealed_file::SealedFile;
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

const FILE: SealedFile = SealedFile { magic: b"tsrring\x01", context: b"server state" };

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
        self.directory.replace("ring", &FILE.seal(&plaintext, &self.keys)?)
    }
}

/// Reads the output of [`RingFile::write`].
pub(super) fn read_ring(bytes: &[u8], keys: &WrappingKeys) -> Result<Ring, StateProblem> {
    decode(&FILE.open(bytes, keys)?).ok_or(StateProblem::Damaged)
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
