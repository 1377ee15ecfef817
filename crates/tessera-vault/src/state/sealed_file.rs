//! A file of a state: its kind and version, then its content, sealed.

use std::io;

use zeroize::Zeroizing;

use super::error::StateProblem;
use super::key::NOW;
use crate::keys::WrappingKeys;

/// A kind of file.
pub(super) struct SealedFile {
    /// The last byte is the version.
    pub(super) magic: &'static [u8; 8],
    /// Other data sealed under the same key has another context.
    pub(super) context: &'static [u8],
}

impl SealedFile {
    /// Returns the file with this content.
    pub(super) fn seal(&self, content: &[u8], keys: &WrappingKeys) -> io::Result<Vec<u8>> {
        let sealed = keys.wrap(self.context, content, NOW);
        let sealed = sealed.ok_or_else(|| io::Error::other("no randomness to seal with"))?;
        Ok([self.magic, &sealed[..]].concat())
    }

    /// Returns the content of the output of [`seal`](Self::seal).
    pub(super) fn open(
        &self,
        bytes: &[u8],
        keys: &WrappingKeys,
    ) -> Result<Zeroizing<Vec<u8>>, StateProblem> {
        let (magic, sealed) = bytes.split_first_chunk().ok_or(StateProblem::Damaged)?;
        check_version(magic, self.magic)?;
        if !keys.has_key_of(sealed).ok_or(StateProblem::Damaged)? {
            return Err(StateProblem::WrongKey);
        }
        keys.unwrap(self.context, sealed, NOW).ok_or(StateProblem::Damaged)
    }
}

/// Checks the kind and the version of a file.
pub(super) fn check_version(magic: &[u8; 8], ours: &[u8; 8]) -> Result<(), StateProblem> {
    let ([name @ .., version], [known @ .., own]) = (magic, ours);
    match version {
        _ if name != known => Err(StateProblem::Damaged),
        version if version > own => Err(StateProblem::Newer { version: *version }),
        version if version < own => Err(StateProblem::Older { version: *version }),
        _ => Ok(()),
    }
}
