//! The place of a call on its connection.

use std::sync::Arc;

/// What has places for calls.
pub(super) trait Places: Send + Sync {
    /// A call that had a place has ended.
    fn release(self: Arc<Self>);
}

/// A call's place. It is free again when this is dropped.
pub(super) struct Place(Option<Arc<dyn Places>>);

impl Place {
    /// One that was taken.
    pub(super) fn of(places: Arc<dyn Places>) -> Self {
        Self(Some(places))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.release();
        }
    }
}
