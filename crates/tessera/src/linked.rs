//! What builds without a Cargo feature leave out.
//!
//! A state or a value that only a feature leads to holds its witness. A build without the feature has no value of that
//! type, so the compiler drops the code that begins with one.

use crate::error::Error;

/// The witness of the feature `sessions`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sessions(#[cfg(not(feature = "sessions"))] core::convert::Infallible);

impl Sessions {
    /// Returns the witness, or nothing in builds without the feature.
    pub(crate) fn linked() -> Option<Self> {
        #[cfg(feature = "sessions")]
        return Some(Self());
        #[cfg(not(feature = "sessions"))]
        None
    }
}

/// The witness of the feature `certificates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Certificates(#[cfg(not(feature = "certificates"))] core::convert::Infallible);

impl Certificates {
    /// Returns the witness, or an error in builds without the feature.
    pub(crate) fn linked() -> Result<Self, Error> {
        #[cfg(feature = "certificates")]
        return Ok(Self());
        #[cfg(not(feature = "certificates"))]
        Err(crate::error::handshake_failure("certificates, which this build leaves out"))
    }

    /// Does nothing; without the feature, what comes after isn't linked.
    #[inline(always)]
    pub(crate) fn is_here(self) {
        #[cfg(not(feature = "certificates"))]
        match self.0 {}
    }
}
