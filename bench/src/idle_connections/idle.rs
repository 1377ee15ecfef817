//! Connections that were used once, and then stay idle.

use std::error::Error;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use tessera_bench::ServedProgram;

/// Makes connections; each sends something, and receives the echo.
pub(crate) async fn connections(
    server: &ServedProgram,
    count: usize,
) -> Result<Vec<TlsStream<TcpStream>>, Box<dyn Error>> {
    let config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAll))
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let socket = TcpStream::connect(&server.address).await?;
        let mut stream = connector.connect(ServerName::try_from("localhost")?, socket).await?;
        let mut echoed = [0; 4000];
        stream.write_all(&[7; 4000]).await?;
        stream.flush().await?;
        stream.read_exact(&mut echoed).await?;
        streams.push(stream);
    }
    Ok(streams)
}

/// Accepts any server: its cost is measured, not its identity.
#[derive(Debug)]
struct AcceptAll;

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
