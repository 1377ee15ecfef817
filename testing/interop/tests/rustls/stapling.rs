//! OCSP responses, stapled by either side's server.

use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use tessera_interop::{Asking, Came, Client, Listener, client, server, to};

use crate::peer::{Plan, connect, serve, talk_and_close};
use crate::{World, identity};

const OCSP: &[u8] = b"whatever the authority says";

#[test]
fn the_client_gets_the_ocsp_response_of_a_rustls_server() {
    let world = World::new();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let (chain, key) = identity(&world.server);
    let rustls = builder.with_no_client_auth().with_single_cert_with_ocsp(chain, key, OCSP.into());

    let asking = Asking::new(&world.pki);
    let mut config = client(&world.pki);
    config.verifier = asking.clone();
    let (address, thread) = serve(&Arc::new(rustls.unwrap()), Plan::talk());
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, thread);
    let came = Came { ocsp_response: Some(OCSP.into()), sct_list: None };
    assert_eq!(asking.came(), Some(came));
}

#[test]
fn a_rustls_client_gets_the_ocsp_response_of_the_server() {
    let world = World::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = WebPkiServerVerifier::builder_with_provider(world.roots(), provider.clone());
    let verifier = Arc::new(Listening { verifier: builder.build().unwrap(), heard: heard.clone() });
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);

    let mut config = server(&world.server);
    config.credentials[0].ocsp_response = Some(OCSP.into());
    let listener = Listener::new();
    let rustls = Arc::new(builder.with_no_client_auth());
    let thread = connect(&rustls, listener.address(), Plan::talk());
    let mut end = listener.serve(&config);
    talk_and_close(&mut end, thread);
    assert_eq!(*heard.lock().unwrap(), OCSP);
}

/// rustls' verifier, which notes the OCSP response.
#[derive(Debug)]
struct Listening {
    verifier: Arc<WebPkiServerVerifier>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl ServerCertVerifier for Listening {
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
