//! The algorithms of the provider, against known answers and Wycheproof.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ahead;
mod one_time;
mod provider;
mod sign;

tessera_provider_tests::provider_tests!(tessera_aws_lc::provider_with_rare_groups);
