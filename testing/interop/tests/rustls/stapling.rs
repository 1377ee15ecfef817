//! OCSP responses, stapled by either side's server.

use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use tessera_interop::{
    Caches, Client, Form, Listener, SERVER_NAME, StapleVerifier, StapledData, client, forms,
    server, to,
};
use tessera_rustls_cached::{CachedChains, Destination};

use crate::peer::{Plan, connect, connect_and, serve, talk_and_close};
use crate::{World, identity};

const OCSP: &[u8] = b"a response of the authority";

#[test]
fn the_client_gets_the_ocsp_response_of_a_rustls_server() {
    let world = World::new();
    let asking = StapleVerifier::new(&world.pki);
    let mut config = client(&world.pki);
    config.verifier = asking.clone();
    let (address, thread) = serve(&Arc::new(rustls_server(&world, OCSP)), Plan::talk());
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, thread);
    let came = StapledData { ocsp_response: Some(OCSP.into()), sct_list: None };
    assert_eq!(asking.came(), Some(came));
}

#[test]
fn a_rustls_client_gets_the_ocsp_response_of_the_server() {
    let world = World::new();
    let (rustls, heard) = rustls_client(&world);
    let mut config = server(&world.server);
    config.credentials[0].ocsp_response = Some(OCSP.into());
    let listener = Listener::new();
    let thread = connect(&Arc::new(rustls), listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    talk_and_close(&mut end, thread);
    assert_eq!(*heard.lock().unwrap(), OCSP);
}

/// The server's OCSP responses in connections of which the second and later ones need no chain.
const STAPLES: [&[u8]; 4] = [OCSP, OCSP, b"another", b""];

fn form(connection: usize) -> Form {
    if connection == 0 { Form::Whole } else { Form::Hash }
}

#[test]
fn the_client_gets_each_ocsp_response_of_a_rustls_server_whose_chain_it_knows() {
    let mut world = World::new();
    world.server = world.pki.server_of_intermediate();
    let (caches, own) = (Caches::new(), identity(&world.server).0);
    for (connection, staple) in STAPLES.into_iter().enumerate() {
        let asking = StapleVerifier::new(&world.pki);
        let mut config = caches.client(client(&world.pki));
        config.verifier = asking.clone();
        let mut rustls = rustls_server(&world, staple);
        rustls.send_tls13_tickets = 0;
        let rustls = Arc::new(CachedChains::new().server_config(&rustls, &own));
        let (address, thread) = serve(&rustls, Plan::talk());
        let mut end = Client::start(&config, to(None), address);
        talk_and_close(&mut end, thread);
        let ocsp_response = (!staple.is_empty()).then(|| staple.into());
        assert_eq!(asking.came(), Some(StapledData { ocsp_response, sct_list: None }));
        assert_eq!(forms(end.facts()).1, form(connection));
    }
}

#[test]
fn a_rustls_client_gets_each_ocsp_response_of_a_server_whose_chain_it_knows() {
    let mut world = World::new();
    world.server = world.pki.server_of_intermediate();
    let (rustls, heard) = rustls_client(&world);
    let (caches, chains) = (Caches::new(), Arc::new(CachedChains::new()));
    let server_name = Destination::new(SERVER_NAME, 443, &rustls);
    for (connection, staple) in STAPLES.into_iter().enumerate() {
        let mut config = caches.server(server(&world.server));
        config.credentials[0].ocsp_response = (!staple.is_empty()).then(|| staple.into());
        let rustls = Arc::new(chains.client_config(&rustls, &server_name, &[]));
        let (cache, server_name) = (chains.clone(), server_name.clone());
        let learn = move |connection: &_| cache.learn_server(&server_name, connection);
        let listener = Listener::new();
        let thread = connect_and(&rustls, listener.address(), Plan::talk(), learn);
        let mut end = listener.serve(&config);
        talk_and_close(&mut end, thread);
        assert_eq!(*heard.lock().unwrap(), staple);
        assert_eq!(forms(end.facts()).0, form(connection));
    }
}

fn rustls_server(world: &World, ocsp: &[u8]) -> ServerConfig {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let (chain, key) = identity(&world.server);
    let builder = builder.with_no_client_auth();
    builder.with_single_cert_with_ocsp(chain, key, ocsp.into()).unwrap()
}

/// Returns a client's configuration, and the OCSP response of the last server.
fn rustls_client(world: &World) -> (ClientConfig, Arc<Mutex<Vec<u8>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = WebPkiServerVerifier::builder_with_provider(world.roots(), provider.clone());
    let verifier =
        Arc::new(OcspRecorder { verifier: builder.build().unwrap(), heard: heard.clone() });
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    (builder.with_no_client_auth(), heard)
}

/// rustls' verifier, which records the OCSP response.
#[derive(Debug)]
struct OcspRecorder {
    verifier: Arc<WebPkiServerVerifier>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl ServerCertVerifier for OcspRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.heard.lock().unwrap() = ocsp_response.to_vec();
        self.verifier.verify_server_cert(end_entity, intermediates, name, &[], now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
