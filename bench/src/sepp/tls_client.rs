//! Connections to the second of two proxies as the first one would make them, by rustls.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CipherSuite, ClientConfig, RootCertStore};
use tessera_proxy::demo::HOME;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::Failure;
use crate::client::{ask, http2};
use crate::files::Files;
use crate::setting::SUITE;

/// How many are opened at a time.
const AT_ONCE: usize = 16;

/// Connections that had one request each, and stay open.
pub(crate) struct IdleConnections {
    // Keeps them open.
    _open: Vec<SendRequest<Empty<Bytes>>>,
}

impl IdleConnections {
    pub(crate) async fn open(to: SocketAddr, count: usize, files: &Files) -> Result<Self, Failure> {
        let connector = connector(files)?;
        let (mut open, mut left) = (Vec::new(), count);
        let mut opening = JoinSet::new();
        loop {
            while left > 0 && opening.len() < AT_ONCE {
                left -= 1;
                opening.spawn(connect(to, connector.clone()));
            }
            match opening.join_next().await {
                None => return Ok(Self { _open: open }),
                Some(connection) => open.push(connection??),
            }
        }
    }
}

/// Fails unless the second proxy chooses the suite that all ways are compared with, whatever this client prefers.
pub(crate) async fn check_suite(to: SocketAddr, files: &Files) -> Result<(), Failure> {
    let socket = TcpStream::connect(to).await?;
    let stream = connector(files)?.connect(ServerName::try_from(HOME.fqdn)?, socket).await?;
    let suite = stream.get_ref().1.negotiated_cipher_suite().map(|suite| suite.suite());
    match suite {
        Some(CipherSuite::TLS13_AES_128_GCM_SHA256) => Ok(()),
        other => Err(format!("its N32-f uses {other:?} instead of {SUITE}").into()),
    }
}

async fn connect(
    to: SocketAddr,
    connector: TlsConnector,
) -> Result<SendRequest<Empty<Bytes>>, Failure> {
    let socket = TcpStream::connect(to).await?;
    socket.set_nodelay(true)?;
    let stream = connector.connect(ServerName::try_from(HOME.fqdn)?, socket).await?;
    let mut connection = http2(TokioIo::new(stream)).await?;
    ask(&mut connection, HOME.fqdn, "https").await?;
    Ok(connection)
}

fn connector(files: &Files) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(files.home.ca_der.clone()))?;
    let key = PrivateKeyDer::try_from(files.visited.key_der.clone())?;
    let chain = vec![CertificateDer::from(files.visited.certificate_der.clone())];
    let provider = rustls::crypto::CryptoProvider {
        kx_groups: vec![aws_lc_rs::kx_group::X25519],
        ..aws_lc_rs::default_provider()
    };
    let mut configuration = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)?;
    configuration.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(configuration).into())
}
