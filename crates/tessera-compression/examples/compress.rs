//! How many bytes compression saves in a full handshake.
//!
//! ```text
//! cargo run -p tessera-compression --example compress --features brotli
//! ```

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera_compression::codecs;
use tessera_harness::{Mode, Scene};
use tessera_null_provider::NullSigner;

fn main() {
    let (whole, compressed) = (flight(false), flight(true));
    println!("whole:      {whole} bytes from the server");
    println!("compressed: {compressed} bytes, {} less", whole - compressed);
}

/// Returns the length of a server's flight, with the codecs of this crate at both ends or without.
fn flight(compressed: bool) -> usize {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    let key = PrivateKey::Signs(Arc::new(NullSigner));
    scene.server.credentials = vec![Credential::new(chain(), key)];
    if compressed {
        scene.server.certificate_codecs = codecs();
        scene.client.certificate_codecs = codecs();
    }
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_output.as_slice().len()
}

/// Returns data like a chain of two certificates: names and object identifiers that repeat, and keys and signatures
/// that don't.
fn chain() -> Vec<Vec<u8>> {
    let names = b"\x06\x03\x55\x04\x0aExample Certification Authority, OCSP http://ca.example/";
    let noise = (0u32..).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8);
    let mixed: Vec<u8> = names.iter().cycle().zip(noise).enumerate().map(pick).take(2400).collect();
    mixed.chunks(1200).map(<[u8]>::to_vec).collect()
}

/// Every third byte is noise.
fn pick((at, (name, noise)): (usize, (&u8, u8))) -> u8 {
    if at / 100 % 3 == 2 { noise } else { *name }
}
