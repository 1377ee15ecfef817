//! The frame of an exported cache: its kind, its version, and a checksum.

use alloc::vec::Vec;

use tessera::crypto::Hash;

use crate::bytes::Bytes;
use crate::chain_hash::ChainHash;
use crate::error::ImportError;

/// What was exported.
#[derive(Clone, Copy)]
pub(crate) enum CacheKind {
    /// A client's cache.
    Servers,
    /// A server's cache.
    Clients,
}

impl CacheKind {
    fn name(self) -> &'static [u8; 15] {
        match self {
            Self::Servers => b"tessera servers",
            Self::Clients => b"tessera clients",
        }
    }

    /// Returns the version that is written; earlier ones are read too.
    pub(crate) fn version(self) -> u8 {
        match self {
            // 1: without fleet tickets.
            Self::Servers => 2,
            // 1: lists of issuers have no numbers.
            Self::Clients => 2,
        }
    }
}

/// Frames the output of `write`.
pub(crate) fn frame(sha256: &dyn Hash, of: CacheKind, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut written = of.name().to_vec();
    written.push(of.version());
    write(&mut written);
    let checksum = sha256.hash(&written);
    written.extend_from_slice(checksum.as_ref());
    written
}

/// Returns the content of the frame, and its version.
pub(crate) fn unframed<'a>(
    sha256: &dyn Hash,
    of: CacheKind,
    written: &'a [u8],
) -> Result<(u8, Bytes<'a>), ImportError> {
    let mut reader = Bytes(written);
    if reader.take(of.name().len()) != Some(of.name()) {
        return Err(ImportError::Damaged);
    }
    // Before the checksum, which a newer version may compute differently.
    let version = match reader.u8() {
        None | Some(0) => return Err(ImportError::Damaged),
        Some(version) if version > of.version() => return Err(ImportError::Newer { version }),
        Some(version) => version,
    };
    let len = reader.0.len().checked_sub(ChainHash::LEN).ok_or(ImportError::Damaged)?;
    let body = reader.take(len).ok_or(ImportError::Damaged)?;
    let sealed = written.len() - ChainHash::LEN;
    let checksum = sha256.hash(written.get(..sealed).unwrap_or_default());
    (checksum.as_ref() == reader.0).then_some((version, Bytes(body))).ok_or(ImportError::Damaged)
}

/// Writes an optional value.
pub(crate) fn put_option<T>(
    out: &mut Vec<u8>,
    value: Option<T>,
    put: impl FnOnce(&mut Vec<u8>, T),
) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Reads an optional value; `None` if that fails.
pub(crate) fn option<'a, T>(
    from: &mut Bytes<'a>,
    read: impl FnOnce(&mut Bytes<'a>) -> Option<T>,
) -> Option<Option<T>> {
    Some(if flag(from)? { Some(read(from)?) } else { None })
}

/// Reads a boolean.
pub(crate) fn flag(from: &mut Bytes<'_>) -> Option<bool> {
    match from.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
