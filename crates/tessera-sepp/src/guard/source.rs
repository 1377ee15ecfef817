//! Where a text of a message stands.

/// Where a text is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A slice of the body, as it stands there.
    Body,
    /// The body has it in another way, by escapes.
    Escaped,
    /// Something that isn't rewritten.
    Fixed,
}
