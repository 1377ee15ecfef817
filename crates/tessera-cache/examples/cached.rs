//! Bytes that caches save in full handshakes with certificates at both ends.
//!
//! ```text
//! cargo run -p tessera-cache --example cached
//! ```

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera_cache::{ClientCache, ServerCache};
use tessera_harness::{Mode, Scene, at};
use tessera_null_provider::NullSigner;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = tessera_aws_lc::provider();
    let client = Arc::new(ClientCache::new(&provider)?);
    let server = Arc::new(ServerCache::new(&provider)?);
    let mut scene = Scene::new(provider, Mode::Mutual);
    // Like the certificates of an end entity and its issuer, on P-256.
    let chain = vec![vec![0x30; 540], vec![0x30; 470]];
    let credential = Credential::new(chain, PrivateKey::Signs(Arc::new(NullSigner)));
    scene.client.credentials = vec![credential.clone()];
    scene.server.credentials = vec![credential];
    println!("without caches: {}", connect(&scene));
    scene.client.certificate_codecs = vec![client.clone()];
    scene.server.certificate_codecs = vec![server];
    println!("first contact:  {}", connect(&scene));
    println!("from then on:   {}", connect(&scene));
    for (name, value) in client.metrics().named().into_iter().filter(|(_, value)| *value > 0) {
        println!("  client: {name} {value}");
    }
    Ok(())
}

/// Returns what both ends send in one handshake.
fn connect(scene: &Scene) -> String {
    let mut pair = scene.start(None, at(0));
    pair.run();
    let (client, server) = (pair.client_sent.len(), pair.server_sent.len());
    format!("{client} bytes from the client, {server} from the server")
}
