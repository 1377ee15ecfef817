//! What is known of an association that has ended.

use tessera::{Error, Facts};

use super::AssociationId;
use super::entry::Entry;
use crate::path::Path;

/// An association that ended by itself: its time ran out, or its client has begun again.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndedAssociation {
    /// Which one.
    pub id: AssociationId,
    /// Why it ended.
    pub error: Error,
    /// Where its peer was.
    pub path: Path,
    /// What was known of it.
    pub facts: Facts,
    /// How many bytes it had received, and how many it had sent.
    pub bytes: [u64; 2],
}

impl EndedAssociation {
    pub(super) fn new(id: AssociationId, entry: &Entry, error: Error) -> Self {
        let facts = entry.association.facts().clone();
        Self { id, error, path: entry.peer.current(), facts, bytes: [entry.received, entry.sent] }
    }
}
