//! Associations on their way from one process to the next.

use std::fmt;

use tessera::Zeroizing;

/// An association that has moved out of an endpoint ([`Endpoint::freeze`](crate::Endpoint::freeze)): its secrets, counters
/// and replay window, connection IDs, paths and budgets, as bytes.
///
/// It is thawed once at most ([`Endpoint::thaw`](crate::Endpoint::thaw)): two from the same bytes would seal different
/// data with one nonce, which reveals both, and the key of their tags. A store of the bytes must therefore destroy them
/// before the association is served again, and refuse copies that are brought back: `tessera_vault::ServerState` does.
pub struct FrozenAssociation(Zeroizing<Vec<u8>>);

impl FrozenAssociation {
    /// Takes bytes that were kept.
    #[must_use]
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// Returns its bytes, to seal and keep.
    #[must_use]
    pub fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

/// No bytes: they are secret.
impl fmt::Debug for FrozenAssociation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrozenAssociation").field("len", &self.0.len()).finish_non_exhaustive()
    }
}

/// Why an association isn't thawed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ThawError {
    /// It is damaged, of another version, or of a suite that the provider lacks.
    Unreadable,
    /// The configuration would not accept its client any more.
    Withdrawn,
    /// The endpoint's connection IDs have another length, or one of its is taken; without any, its address is taken.
    ConnectionId,
    /// A limit is reached.
    Full,
}

impl fmt::Display for ThawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "it is damaged, of another version, or of an unknown suite",
            Self::Withdrawn => "trust in its client was withdrawn",
            Self::ConnectionId => {
                "its connection ID is taken, or has another length than those of this server, or it has none and its \
                 address is taken"
            }
            Self::Full => "there are too many connections, or too many of its address",
        })
    }
}

impl std::error::Error for ThawError {}
