//! The file in which the key of resets survives the process.

use std::io;

use tessera::crypto::Provider;
use zeroize::Zeroizing;

use super::error::StateProblem;
use super::sealed_file::SealedFile;
use crate::directory::OwnedDirectory;
use crate::keys::WrappingKeys;

/// A key, boxed, so that no move leaves a copy.
pub(super) type ResetKeyBytes = Box<Zeroizing<[u8; 32]>>;

const FILE: SealedFile = SealedFile { magic: b"tsrrset\x01", context: b"reset key" };

/// Returns the key in a file, which belongs to this vault.
pub(super) fn read(
    bytes: &[u8],
    vault: &[u8; 16],
    keys: &WrappingKeys,
) -> Result<ResetKeyBytes, StateProblem> {
    let content = FILE.open(bytes, keys)?;
    let mut key = ResetKeyBytes::default();
    let stored = content.strip_prefix(vault).filter(|stored| stored.len() == key.len());
    key.copy_from_slice(stored.ok_or(StateProblem::Damaged)?);
    Ok(key)
}

/// Replaces the file; without a key by a new one, which is returned.
pub(super) fn write(
    key: Option<ResetKeyBytes>,
    vault: &[u8; 16],
    directory: &OwnedDirectory,
    keys: &WrappingKeys,
    provider: &Provider,
) -> io::Result<ResetKeyBytes> {
    let key = match key {
        Some(key) => key,
        None => {
            let mut key = ResetKeyBytes::default();
            let filled = provider.random.fill(&mut **key);
            filled.map_err(|_| io::Error::other("no random bytes"))?;
            key
        }
    };
    let content = Zeroizing::new([&vault[..], &**key].concat());
    directory.replace(NAME, &FILE.seal(&content, keys)?)?;
    Ok(key)
}

/// The file's name.
pub(super) const NAME: &str = "reset-key";
