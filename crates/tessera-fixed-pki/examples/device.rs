//! A device without a clock, and a fixed PKI: handshakes in memory.
//!
//! ```text
//! cargo run -p tessera-fixed-pki --example device
//! ```
//!
//! Devices use `tessera-rustcrypto`, and have their root in an image (`include_bytes!`).

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tessera::auth::{Credential, PeerVerifier, PrivateKey};
use tessera::{ClientConfig, Destination, ServerConfig, Time};
use tessera_aws_lc::{SigningKey, provider};
use tessera_fixed_pki::{Anchor, ChainStore, FixedPkiVerifier, KnownChains, StoreBounds};
use tessera_harness::Pair;
use tessera_rustcrypto::HANDSHAKE_ALGORITHMS;

fn main() -> Result<(), Box<dyn Error>> {
    let authority = authority()?;
    let server = server(&authority)?;
    let root: &'static [u8] = authority.der().to_vec().leak();
    let verifier = || -> Result<_, Box<dyn Error>> {
        let anchor = Anchor::certificate(root)?;
        Ok(FixedPkiVerifier::new(vec![anchor], HANDSHAKE_ALGORITHMS)?)
    };
    connect("without a clock", Arc::new(verifier()?), &server, NAME)?;

    let undated = || verifier().map(FixedPkiVerifier::without_checking_dates);
    connect("dates unchecked", Arc::new(undated()?), &server, NAME)?;
    connect("another name", Arc::new(undated()?), &server, "elsewhere.example")?;

    // A chain that comes again isn't verified again.
    let store = ChainStore::new(&provider(), StoreBounds { entries: 4, bytes: 1024 })?;
    let known = Arc::new(KnownChains::new(undated()?, &store));
    connect("for the first time", known.clone(), &server, NAME)?;
    connect("again", known, &server, NAME)?;
    println!("{:?}", store.counts());
    Ok(())
}

const NAME: &str = "server.example";

/// Connects in memory, and prints the client's verdict on the server.
fn connect(
    what: &str,
    verifier: Arc<dyn PeerVerifier>,
    server: &ServerConfig,
    name: &str,
) -> Result<(), Box<dyn Error>> {
    let client = ClientConfig::new(provider(), verifier);
    let destination = Destination { server_name: name.into(), ..Default::default() };
    let mut pair =
        Pair::start(&client, server, destination, Time { monotonic: Duration::ZERO, unix: None })?;
    pair.run();
    match &pair.to_client.error {
        None => println!("{what}: accepted"),
        Some(error) => println!("{what}: {error}"),
    }
    Ok(())
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Result<Authority, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn server(authority: &Authority) -> Result<ServerConfig, Box<dyn Error>> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([NAME.to_owned()])?.signed_by(&key, authority)?;
    let signer = Arc::new(SigningKey::from_pkcs8(&key.serialize_der())?);
    let chain = vec![certificate.der().to_vec()];
    let credential = Credential::new(chain, PrivateKey::Signs(signer));
    Ok(ServerConfig::new(provider(), vec![credential]))
}
