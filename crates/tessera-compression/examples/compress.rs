//! What compression saves in a full handshake, in bytes.
//!
//! ```text
//! cargo run -p tessera-compression --example compress --features brotli
//! ```

use std::sync::Arc;

use tessera::auth::{CertificateCodec, Credential, PrivateKey};
use tessera_compression::codecs;
use tessera_harness::{Mode, Scene};
use tessera_null_provider::NullSigner;

fn main() {
    let whole = flight(Vec::new());
    println!("whole: {whole} bytes from the server");
    for codec in codecs() {
        let name = codec.algorithm();
        let sent = flight(vec![codec]);
        println!("{name:?}: {sent} bytes, {} less", whole - sent);
    }
}

/// The length of a server's flight when both ends have these codecs.
fn flight(codecs: Vec<Arc<dyn CertificateCodec>>) -> usize {
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.server.credentials =
        vec![Credential::new(chain(), PrivateKey::Here(Arc::new(NullSigner)))];
    scene.server.certificate_codecs = codecs.clone();
    scene.client.certificate_codecs = codecs;
    let mut pair = scene.pair();
    pair.client_to_server();
    pair.server_output.as_slice().len()
}

/// Like a chain of two certificates: names and object identifiers that repeat, and keys and signatures
/// that don't.
fn chain() -> Vec<Vec<u8>> {
    let names = b"\x06\x03\x55\x04\x0aExample Certification Authority, OCSP http://ca.example/";
    let noise = (0u32..).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8);
    let mixed: Vec<u8> = names.iter().cycle().zip(noise).enumerate().map(pick).take(2400).collect();
    mixed.chunks(1200).map(<[u8]>::to_vec).collect()
}

/// A third of the bytes is noise.
fn pick((at, (name, noise)): (usize, (&u8, u8))) -> u8 {
    if at / 100 % 3 == 2 { noise } else { *name }
}
