//! The algorithms of the provider, against known answers, Wycheproof and AWS-LC.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

#[cfg(feature = "ml-kem")]
mod drawn;
#[cfg(feature = "falcon-pre-standard")]
mod falcon;
mod masks;
mod provider;
#[cfg(feature = "rsa")]
mod rsa;
#[cfg(feature = "p256")]
mod scalars;
#[cfg(feature = "ecdsa")]
mod sign;
mod source;
#[cfg(feature = "signatures")]
mod verify;
#[cfg(any(feature = "ed25519", feature = "ml-dsa"))]
mod wycheproof;

use source::provider;

tessera_provider_tests::provider_tests!(crate::provider);

/// The groups of a provider are tested as the usual ones are.
#[cfg(feature = "one-time-experimental")]
mod one_time {
    tessera_provider_tests::provider_tests!(crate::source::one_time_provider);
}

#[cfg(feature = "fo-skip-experimental")]
mod fo_skip {
    tessera_provider_tests::provider_tests!(crate::source::fo_skip_provider);
}
