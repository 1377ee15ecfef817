//! The same load by tokio-rustls: connect, complete the handshake, close, read to the end.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// State shared by the connections.
struct Run {
    connector: TlsConnector,
    address: String,
    begun: AtomicU64,
    resumed: AtomicU64,
    count: u64,
}

pub(crate) fn run(
    address: &str,
    certificate: &str,
    count: u64,
    parallel: u64,
) -> Result<(), Box<dyn Error>> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups = vec![rustls::crypto::aws_lc_rs::kx_group::X25519];
    provider.cipher_suites =
        vec![rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256];
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate)?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let run = Arc::new(Run {
        connector: TlsConnector::from(Arc::new(config)),
        address: address.to_owned(),
        begun: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
        count,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        // A full handshake brings eight tickets, and rustls keeps eight.
        run.connect().await?;
        run.resumed.store(0, Ordering::Relaxed);
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for _ in 0..parallel {
            let run = run.clone();
            tasks.spawn(async move {
                while run.begun.fetch_add(1, Ordering::Relaxed) < run.count {
                    run.connect().await?;
                }
                io::Result::Ok(())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        let rate = count as f64 / started.elapsed().as_secs_f64();
        let resumed = run.resumed.load(Ordering::Relaxed);
        println!("{{\"handshakes_per_second\": {rate}, \"resumed\": {resumed}}}");
        Ok(())
    })
}

impl Run {
    async fn connect(&self) -> io::Result<()> {
        let socket = TcpStream::connect(&self.address).await?;
        socket.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let mut stream = self.connector.connect(name, socket).await?;
        stream.shutdown().await?;
        stream.read_to_end(&mut Vec::new()).await?;
        if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
            self.resumed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
