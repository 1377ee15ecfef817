//! OCSP responses, which accompany a chain and change more often.

use std::sync::{Arc, Mutex};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use crate::{CertificateForms, Form::Hash, Form::Whole, World};

#[test]
fn a_chain_is_known_while_its_staples_change() {
    let world = World::new();
    let (mut client, own) =
        (world.certificates.client().unwrap(), world.certificates.client_chain());
    let provider = client.crypto_provider().clone();
    let roots = world.certificates.roots().unwrap();
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build().unwrap();
    let verifier = Arc::new(Recording { verifier, ocsp: Mutex::default() });
    client.dangerous().set_certificate_verifier(verifier.clone());
    for (staple, servers) in
        [(&b"monday"[..], Whole), (b"monday", Hash), (b"tuesday", Hash), (b"", Hash)]
    {
        let server = world.certificates.server(staple).unwrap();
        let server = world.server.server_config(&server, world.certificates.server_chain());
        let clients = if servers == Whole { Whole } else { Hash };
        let config = world.client.client_config(&client, &world.to(), own);
        assert_eq!(world.meet_with(config, server).0, CertificateForms { servers, clients });
        assert_eq!(*verifier.ocsp.lock().unwrap(), staple);
    }
}

/// Verifies like webpki, and records the staple.
#[derive(Debug)]
struct Recording {
    verifier: Arc<WebPkiServerVerifier>,
    ocsp: Mutex<Vec<u8>>,
}

impl ServerCertVerifier for Recording {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.ocsp.lock().unwrap() = ocsp.to_vec();
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
