//! What the provider offers, and two of its uses: agree on a key, protect a record.
//!
//! ```text
//! cargo run -p tessera-rustcrypto --example provider
//! ```
//!
//! The engine makes these calls. Programs only supply random bytes, and hand the provider to a configuration.

use std::error::Error;
use std::fs::File;
use std::io::Read;

use tessera::crypto::{Nonce, Provider, RandomFailed};
use tessera_rustcrypto::{RandomSource, provider};

/// Linux's generator, in the place of a board's.
struct Urandom;

impl RandomSource for Urandom {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(out));
        read.map_err(|_| RandomFailed)
    }
}

/// A constant: it lies in the flash.
static PROVIDER: Provider = provider::<Urandom>();

fn main() -> Result<(), Box<dyn Error>> {
    // A client generates, a server encapsulates, the client decapsulates: Diffie-Hellman and ML-KEM alike.
    for group in PROVIDER.groups {
        let ephemeral = group.generate()?;
        let (reply, of_server) = group.encapsulate(ephemeral.share())?;
        let share = ephemeral.share().len();
        let of_client = ephemeral.decapsulate(&reply)?;
        let agreed = of_client.expose() == of_server.expose();
        println!(
            "{:?}: {share} bytes there, {} back, agreed: {agreed}",
            group.group(),
            reply.len()
        );
    }
    for suite in PROVIDER.suites {
        let key = suite.aead.key(&vec![1; suite.aead.key_len()]);
        let mut record = b"record".to_vec();
        let tag = key.seal(&Nonce([0; 12]), b"header", &mut record);
        record.extend_from_slice(&tag);
        let len = key.open(&Nonce([0; 12]), b"header", &mut record)?;
        println!("{suite:?}: opened {} bytes of {}", len, record.len());
    }
    Ok(())
}
