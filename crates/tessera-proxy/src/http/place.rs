//! A call's place on its connection.

use std::sync::Arc;

/// A connection with places for calls.
pub(super) trait Places: Send + Sync {
    /// Releases the place of a call that has ended.
    fn release(self: Arc<Self>);
}

/// A call's place, released when dropped.
pub(super) struct Place(Option<Arc<dyn Places>>);

impl Place {
    /// Wraps a place that was taken.
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
