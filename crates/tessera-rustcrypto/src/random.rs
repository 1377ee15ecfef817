//! Random bytes, which the device's owner supplies.

use core::marker::PhantomData;

use tessera::crypto::{Random, RandomFailed};

/// A source of cryptographically secure random bytes. It is a type rather than a value, so that the provider is a
/// constant; a peripheral is reached by its register, or by a lock in a static.
pub trait RandomSource: 'static {
    /// Fills `out` with random bytes.
    ///
    /// # Errors
    /// Returns an error if there are none: the handshake ends.
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed>;
}

/// A source, as the engine takes it.
pub(crate) struct Drawn<R>(PhantomData<fn() -> R>);

impl<R> Drawn<R> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<R: RandomSource> Random for Drawn<R> {
    fn fill(&self, out: &mut [u8]) -> Result<(), RandomFailed> {
        R::fill(out)
    }
}
