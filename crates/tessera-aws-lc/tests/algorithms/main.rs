//! The algorithms of the provider, against known answers and Wycheproof.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ahead;
mod kem_key;
mod one_time;
mod provider;
mod sign;

tessera_provider_tests::provider_tests!(tessera_aws_lc::provider_with_rare_groups);

/// A definite DER value.
fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
    let len = contents.len();
    let head = match len {
        0..128 => vec![tag, len as u8],
        128..256 => vec![tag, 0x81, len as u8],
        _ => vec![tag, 0x82, (len >> 8) as u8, len as u8],
    };
    [head, contents.to_vec()].concat()
}
