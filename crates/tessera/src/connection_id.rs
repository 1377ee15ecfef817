//! Connection IDs (RFC 9146, RFC 9147 §9).

use alloc::boxed::Box;
use core::fmt;

/// A connection ID: the name that its receiver gave an association, in each record sent to it.
///
/// It is visible on the wire, so it must say nothing to others, and not link associations.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(Box<[u8]>);

impl ConnectionId {
    /// The longest, in bytes (RFC 9146 §3).
    pub const MAX_LEN: usize = 255;

    /// Returns the connection ID of these bytes; `None` if there are more than 255. Without bytes it is none: records
    /// are then routed by address.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= Self::MAX_LEN).then(|| Self(bytes.into()))
    }

    /// Returns its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<[u8]> for ConnectionId {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
