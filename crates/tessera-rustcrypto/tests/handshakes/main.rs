//! Handshakes with AWS-LC at the other end, in both roles.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]
#![cfg(all(feature = "x25519", feature = "chacha20poly1305"))]

#[cfg(feature = "ecdsa")]
mod certificates;
#[cfg(all(
    feature = "fo-skip-experimental",
    feature = "ml-kem-512",
    feature = "ml-kem-1024",
    feature = "ecdsa"
))]
mod fo_skip;
#[cfg(feature = "ml-kem")]
mod kems;
#[cfg(all(feature = "one-time-experimental", feature = "ml-kem-512", feature = "ml-kem-1024"))]
mod one_time;
mod psk;

use tessera::crypto::{Provider, RandomFailed};
use tessera_harness::Pair;
use tessera_rustcrypto::RandomSource;

struct AwsLc;

impl RandomSource for AwsLc {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        aws_lc_rs::rand::fill(out).map_err(|_| RandomFailed)
    }
}

fn provider() -> Provider {
    tessera_rustcrypto::provider::<AwsLc>()
}

/// Completes the handshake, and carries data both ways.
fn complete(pair: &mut Pair) {
    pair.run();
    let errors = (&pair.to_client.error, &pair.to_server.error);
    assert!(pair.to_client.complete && pair.to_server.complete, "{errors:?}");
    pair.client_write(b"from the client");
    pair.server_write(b"from the server");
    pair.run();
    assert_eq!(pair.to_server.data, b"from the client");
    assert_eq!(pair.to_client.data, b"from the server");
}
