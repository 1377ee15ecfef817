//! A lock, with `std` and without.

#[cfg(feature = "std")]
use std::sync::{MutexGuard, PoisonError};

#[cfg(not(feature = "std"))]
use spin::MutexGuard;

/// A value that one thread at a time can access.
#[cfg(feature = "std")]
pub(crate) struct Lock<T>(std::sync::Mutex<T>);

/// A value that one thread at a time can access.
#[cfg(not(feature = "std"))]
pub(crate) struct Lock<T>(spin::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(feature = "std")]
        return Self(std::sync::Mutex::new(value));
        #[cfg(not(feature = "std"))]
        return Self(spin::Mutex::new(value));
    }

    /// Waits for the value. A poisoned lock is fine: nothing under these locks panics half way.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(feature = "std")]
        return self.0.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(not(feature = "std"))]
        return self.0.lock();
    }
}
