//! What builds without a Cargo feature leave out.
//!
//! A state or a value that only a feature leads to holds its witness. A build without the feature has no value of that
//! type, so the compiler drops the code that begins with one.

use crate::error::{Error, handshake_failure};

/// Declares the witness of a feature.
macro_rules! witness {
    ($name:ident, $feature:literal) => {
        #[doc = concat!("The witness of the feature `", $feature, "`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name(#[cfg(not(feature = $feature))] core::convert::Infallible);

        impl $name {
            /// Returns the witness, or nothing in builds without the feature.
            pub(crate) const fn linked() -> Option<Self> {
                #[cfg(feature = $feature)]
                return Some(Self());
                #[cfg(not(feature = $feature))]
                None
            }

            /// Returns the witness where the peers have agreed on what it is of.
            ///
            /// # Errors
            /// Fails the handshake in builds without the feature.
            #[allow(dead_code, reason = "not all can be agreed on")]
            pub(crate) fn agreed() -> Result<Self, Error> {
                Self::linked()
                    .ok_or(handshake_failure(concat!($feature, ", which this build leaves out")))
            }

            /// Does nothing; without the feature, what comes after isn't linked.
            #[inline(always)]
            #[allow(dead_code, reason = "some are tested where they are made")]
            pub(crate) fn is_here(self) {
                #[cfg(not(feature = $feature))]
                match self.0 {}
            }
        }
    };
}

witness!(Certificates, "certificates");
witness!(KemAuthentication, "kem-authentication");
witness!(Sessions, "sessions");
witness!(Grease, "grease");
