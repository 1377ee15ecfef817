//! Raw public keys (RFC 7250): a rustls configured for them supports nothing else.

use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig};
use rustls::{HandshakeKind, SignatureScheme};
use tessera::handshake::ClientAuthentication;
use tessera::wire::AlertDescription;
use tessera_interop::{
    CLIENT_NAME, Client, Identity, Listener, SERVER_NAME, Server, client, server, to,
};

use crate::World;
use crate::peer::{Plan, connect, serve, talk_and_close};

/// Takes one key.
#[derive(Debug)]
struct PinnedKey(Vec<u8>);

impl PinnedKey {
    fn check(&self, end_entity: &CertificateDer<'_>) -> Result<(), Error> {
        match end_entity.as_ref() == self.0 {
            true => Ok(()),
            false => Err(Error::General("another key".into())),
        }
    }

    fn check_signature(
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signature, &algorithms)
    }

    fn schemes() -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for PinnedKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("no TLS 1.2 here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::check_signature(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        Self::schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PinnedKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("no TLS 1.2 here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::check_signature(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        Self::schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn key(identity: &Identity) -> Arc<CertifiedKey> {
    let key = PrivateKeyDer::Pkcs8(identity.key.clone().into());
    let key = aws_lc_rs::sign::any_supported_type(&key).unwrap();
    Arc::new(CertifiedKey::new(vec![CertificateDer::from(identity.public_key())], key))
}

/// Returns rustls as a client that knows the server's key, with its own key if `mutual`.
fn rustls_client(world: &World, mutual: bool) -> Arc<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let pinned = Arc::new(PinnedKey(world.server.public_key()));
    let builder = builder.dangerous().with_custom_certificate_verifier(pinned);
    Arc::new(match mutual {
        false => builder.with_no_client_auth(),
        true => {
            let resolver = AlwaysResolvesClientRawPublicKeys::new(key(&world.client));
            builder.with_client_cert_resolver(Arc::new(resolver))
        }
    })
}

/// rustls as the server with its key; it knows the client's, if it is to ask.
fn rustls_server(world: &World, mutual: bool) -> Arc<ServerConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let builder = match mutual {
        false => builder.with_no_client_auth(),
        true => builder.with_client_cert_verifier(Arc::new(PinnedKey(world.client.public_key()))),
    };
    let resolver = AlwaysResolvesServerRawPublicKeys::new(key(&world.server));
    Arc::new(builder.with_cert_resolver(Arc::new(resolver)))
}

#[test]
fn a_rustls_client_verifies_the_servers_raw_public_key_and_resumes() {
    let world = World::new();
    let rustls = rustls_client(&world, false);
    let mut config = server(&world.server);
    // Both types; rustls lists one.
    config.credentials.push(world.server.raw_public_key());
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let listener = Listener::new();
        let thread = connect(&rustls, listener.address(), Plan::talk());
        let mut end = listener.serve(&config);
        let heard = talk_and_close(&mut end, thread);
        assert_eq!(heard.kind, Some(kind));
    }
}

#[test]
fn the_server_verifies_the_raw_public_key_of_a_rustls_client() {
    let world = World::new();
    let mut config = server(&world.server);
    config.credentials = vec![world.server.raw_public_key()];
    config.client_authentication =
        ClientAuthentication::Required(world.client.pinned_as(CLIENT_NAME));
    let listener = Listener::new();
    let thread = connect(&rustls_client(&world, true), listener.address(), Plan::talk());
    let mut end: Server = listener.serve(&config);
    talk_and_close(&mut end, thread);
    let peer = end.facts().peer.clone().unwrap();
    assert_eq!(peer.blob, format!("key:{CLIENT_NAME}").into_bytes());
}

/// RFC 7250 §4.2: a server that requests no certificate doesn't send the client's type, and one that resumes requests
/// none. rustls waits for it all the same, and fails: such clients can't use tickets.
#[test]
fn rustls_with_a_raw_key_cannot_resume() {
    let world = World::new();
    let mut config = server(&world.server);
    config.credentials = vec![world.server.raw_public_key()];
    config.client_authentication =
        ClientAuthentication::Required(world.client.pinned_as(CLIENT_NAME));
    let rustls = rustls_client(&world, true);

    let listener = Listener::new();
    let thread = connect(&rustls, listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    talk_and_close(&mut end, thread);

    let thread = connect(&rustls, listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    let error = end.failure();
    assert_eq!(error, tessera::Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
    assert!(end.facts().psk.is_some());
    let error = thread.join().unwrap().error.unwrap();
    assert!(error.contains("IncorrectCertificateTypeExtension"), "{error}");
}

#[test]
fn the_client_verifies_the_raw_public_key_of_a_rustls_server_and_resumes() {
    let world = World::new();
    let mut config = client(&world.pki);
    config.verifier = world.server.pinned_as(SERVER_NAME);
    let rustls = rustls_server(&world, false);
    let mut session = None;
    for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
        let (address, thread) = serve(&rustls, Plan::talk());
        let mut end = Client::start(&config, to(session), address);
        let heard = talk_and_close(&mut end, thread);
        assert_eq!(heard.kind, Some(kind));
        assert_eq!(end.facts().peer.clone().unwrap().blob, SERVER_NAME.as_bytes());
        session = end.told.sessions.pop();
        assert!(session.is_some());
    }
}

#[test]
fn a_rustls_server_verifies_the_clients_raw_public_key() {
    let world = World::new();
    let mut config = client(&world.pki);
    config.verifier = world.server.pinned_as(SERVER_NAME);
    config.credentials = vec![world.client.credential(), world.client.raw_public_key()];
    let (address, thread) = serve(&rustls_server(&world, true), Plan::talk());
    let mut end = Client::start(&config, to(None), address);
    let heard = talk_and_close(&mut end, thread);
    assert_eq!(heard.certificates, 1);
}

/// Another key than the known one.
#[test]
fn the_client_refuses_a_rustls_server_with_another_raw_public_key() {
    let world = World::new();
    let mut config = client(&world.pki);
    config.verifier = world.client.pinned_as(SERVER_NAME);
    let (address, thread) = serve(&rustls_server(&world, false), Plan::talk());
    let mut end = Client::start(&config, to(None), address);
    assert_eq!(end.failure().alert(), Some(AlertDescription::CERTIFICATE_UNKNOWN));
    drop(end);
    assert!(thread.join().unwrap().error.is_some());
}

/// A side that accepts only certificates, and one that has only raw keys.
#[test]
fn a_side_with_raw_keys_alone_and_one_with_certificates_alone_do_not_connect() {
    let world = World::new();
    let listener = Listener::new();
    let thread = connect(&rustls_client(&world, false), listener.address(), Plan::talk());
    let mut end = listener.serve(&server(&world.server));
    assert_eq!(end.failure().alert(), Some(AlertDescription::UNSUPPORTED_CERTIFICATE));
    drop(end);
    assert!(thread.join().unwrap().error.is_some());

    let (address, thread) = serve(&rustls_server(&world, false), Plan::talk());
    let mut end = Client::start(&client(&world.pki), to(None), address);
    let error = end.failure();
    assert_eq!(error, tessera::Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
    drop(end);
    assert!(thread.join().unwrap().error.is_some());
}
