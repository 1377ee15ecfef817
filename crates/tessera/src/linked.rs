//! What builds without a Cargo feature leave out.
//!
//! A state or a value that only a feature leads to is held by its witness. A build without the feature has no value of that
//! type, so the compiler drops the code that begins with one. Where there may be none (`Option`), nothing takes its place, not
//! even the code that would drop it.

use core::ops::{Deref, DerefMut};

use crate::error::{Error, handshake_failure};

/// Declares the witness of a feature.
macro_rules! witness {
    ($name:ident, $feature:literal) => {
        #[doc = concat!("The witness of the feature `", $feature, "`, with what it leads to.")]
        #[cfg(feature = $feature)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<T = ()>(T);

        #[doc = concat!("The witness of the feature `", $feature, "`, which this build leaves out.")]
        #[cfg(not(feature = $feature))]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<T = ()>(core::convert::Infallible, core::marker::PhantomData<T>);

        impl $name {
            /// Returns the witness, or nothing in builds without the feature.
            pub(crate) const fn linked() -> Option<Self> {
                #[cfg(feature = $feature)]
                return Some(Self(()));
                #[cfg(not(feature = $feature))]
                None
            }

            /// Returns the witness where both ends have agreed to use the feature.
            ///
            /// # Errors
            /// Fails the handshake in builds without the feature.
            #[allow(dead_code, reason = "not all can be agreed on")]
            pub(crate) fn agreed() -> Result<Self, Error> {
                Self::linked()
                    .ok_or(handshake_failure(concat!($feature, ", which this build leaves out")))
            }

            /// Returns the witness with a value.
            #[inline(always)]
            #[allow(dead_code, reason = "some lead to no value")]
            pub(crate) fn with<T>(self, value: T) -> $name<T> {
                #[cfg(feature = $feature)]
                return $name(value);
                #[cfg(not(feature = $feature))]
                {
                    let _ = value;
                    match self.0 {}
                }
            }

            /// Does nothing; without the feature, what comes after isn't linked.
            #[inline(always)]
            #[allow(dead_code, reason = "some are tested where they are made")]
            pub(crate) fn is_here(self) {
                #[cfg(not(feature = $feature))]
                match self.0 {}
            }
        }

        #[allow(dead_code, reason = "some lead to no value")]
        impl<T> $name<T> {
            /// Returns the value.
            #[inline(always)]
            pub(crate) fn into_inner(self) -> T {
                #[cfg(feature = $feature)]
                return self.0;
                #[cfg(not(feature = $feature))]
                match self.0 {}
            }
        }

        impl<T> Deref for $name<T> {
            type Target = T;

            #[inline(always)]
            fn deref(&self) -> &T {
                #[cfg(feature = $feature)]
                return &self.0;
                #[cfg(not(feature = $feature))]
                match self.0 {}
            }
        }

        impl<T> DerefMut for $name<T> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut T {
                #[cfg(feature = $feature)]
                return &mut self.0;
                #[cfg(not(feature = $feature))]
                match self.0 {}
            }
        }
    };
}

witness!(Certificates, "certificates");
witness!(KemAuthentication, "kem-authentication");
witness!(KnownKeys, "known-keys");
witness!(Sessions, "sessions");
witness!(Grease, "grease");
