//! What a full handshake costs with its key at a signer on loopback, compared with the same key here: one after the other,
//! both ends in this process. The two take turns, and the ratio is the median of their turns' ratios.
//!
//! ```text
//! cargo run --release -p tessera-signer --all-features --example handshake_cost [HANDSHAKES]
//! ```

use std::error::Error;
use std::future::pending;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_pki::Authority;
use tessera_pki::rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, SignatureAlgorithm};
use tessera_proxy::admin::Metrics;
use tessera_signer::server::{HeldKey, Keys, Rate, SignerServer, server_config};
use tessera_signer::{RemoteKey, RemoteSigner, SignerAddress, SignerLimits, client_config};
use tessera_tokio::{Acceptor, Connector, Limits};
use tessera_webpki::WebPkiVerifier;
use tokio::net::TcpListener;

const TURNS: usize = 15;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let handshakes = std::env::args().nth(1).map_or(Ok(200), |text| text.parse())?;
    for (name, algorithm) in
        [("ECDSA P-256", &PKCS_ECDSA_P256_SHA256), ("RSA 2048", &PKCS_RSA_SHA256)]
    {
        measure(name, algorithm, handshakes).await?;
    }
    Ok(())
}

async fn measure(
    name: &str,
    algorithm: &'static SignatureAlgorithm,
    handshakes: u32,
) -> Result<(), Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let (signers, origin) = (Authority::new("signers"), Authority::new("origin"));
    let key = KeyPair::generate_for(algorithm)?;
    let leaf = origin.issue_for(key, &["www.example"], |_| ());
    let verifier = Arc::new(WebPkiVerifier::new(&[signers.der()])?);

    let mut keys = Keys::default();
    let rate = Rate { per_second: NonZeroU32::MAX, burst: NonZeroU32::MAX };
    let signing = Arc::new(tessera_aws_lc::SigningKey::from_pkcs8(&leaf.key_der())?);
    keys.add("www", HeldKey::new(signing, ["edge.internal"], rate));
    let own = signers.issue("localhost").credential();
    let config = server_config(ServerConfig::new(provider, vec![own]), verifier.clone())?;
    let server = SignerServer::new(keys, Limits::for_connections(16), 16, &Metrics::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move { server.run(listener, Acceptor::new(config), pending()).await });

    let mut config = ClientConfig::new(provider, verifier);
    config.credentials = vec![signers.issue("edge.internal").credential()];
    let signer = SignerAddress { address, server_name: "localhost".into() };
    let limits = SignerLimits::default();
    let remote = RemoteSigner::open(&Connector::new(client_config(config)?), vec![signer], limits);
    let key = RemoteKey::new(leaf.chain.clone(), "www")?;
    remote.add(&key);
    let away = ServerConfig::new(provider, vec![key.credential()]).checked()?;
    let away = Acceptor::new(away).with_answers(Arc::new(remote));
    let here = Acceptor::new(ServerConfig::new(provider, vec![leaf.credential()]).checked()?);
    let verifier = Arc::new(WebPkiVerifier::new(&[origin.der()])?);
    let client = Connector::new(ClientConfig::new(provider, verifier).checked()?);

    // The connection to the signer, and caches.
    time(&client, &away, 20).await?;
    time(&client, &here, 20).await?;
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let local = time(&client, &here, handshakes).await?;
        let remote = time(&client, &away, handshakes).await?;
        turns.push((remote.as_secs_f64() / local.as_secs_f64(), local, remote));
    }
    turns.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, local, remote) = turns[TURNS / 2];
    let (least, most) = (turns[0].0, turns[TURNS - 1].0);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(handshakes);
    println!(
        "{name}: {:.0} µs with the key here, {:.0} µs with a signer: {ratio:.2} times ({least:.2} to {most:.2})",
        each(local),
        each(remote)
    );
    Ok(())
}

/// Makes full handshakes, one after the other.
async fn time(
    client: &Connector,
    server: &Acceptor,
    handshakes: u32,
) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    for _ in 0..handshakes {
        let (one, other) = tokio::io::duplex(1 << 16);
        let destination =
            Destination { server_name: "www.example".into(), ..Destination::default() };
        let (connected, accepted) =
            tokio::join!(client.connect(destination, one), server.accept(other));
        connected?;
        accepted?;
    }
    Ok(begun.elapsed())
}
