//! What the owner of key pairs made ahead does with those of one kind.

use super::pool::{FillStep, KeyUsage};

/// Key pairs of one kind.
pub(crate) trait Stock: Send + Sync {
    /// Wipes those that are too old or too many.
    fn trim(&self, most: usize);

    /// Makes one.
    fn make(&self) -> FillStep;

    fn len(&self) -> usize;

    fn usage(&self) -> KeyUsage;
}
