//! The algorithms of the provider, against known answers, Wycheproof and AWS-LC.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod masks;
mod provider;
#[cfg(feature = "rsa")]
mod rsa;
#[cfg(feature = "p256")]
mod scalars;
#[cfg(feature = "ecdsa")]
mod sign;
mod source;
#[cfg(any(feature = "ecdsa", feature = "rsa", feature = "ml-dsa"))]
mod verify;

use source::provider;

tessera_provider_tests::provider_tests!(crate::provider);
