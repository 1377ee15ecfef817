//! A client that knows its servers by PSKs alone.

use std::sync::Arc;

use tessera::Destination;
use tessera::Error;
use tessera::auth::{Credential, NoCertificates, PrivateKey};
use tessera::crypto::{Signer, SigningError};
use tessera::resume::{ExternalPsk, PskKind};
use tessera::wire::{AlertDescription, CipherSuite, SignatureScheme};
use tessera_harness::{Mode, Scene, at, to};

/// Signs under the scheme that the client offers. The signature is wrong, and never looked at.
struct WrongSigner;

impl Signer for WrongSigner {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        Ok(vec![0; 70])
    }
}

#[test]
fn a_client_without_certificates_connects_by_psk_and_refuses_a_chain() {
    let psk = ExternalPsk::new(
        b"device".to_vec(),
        vec![7; 32].into(),
        CipherSuite::TLS_AES_128_GCM_SHA256,
    );
    let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
    scene.client.verifier = Arc::new(NoCertificates);
    let key = PrivateKey::Signs(Arc::new(WrongSigner));
    scene.server.credentials = vec![Credential::new(vec![vec![0x30; 300]], key)];
    for is_known in [true, false] {
        scene.server.external_psks = if is_known { vec![psk.clone()] } else { Vec::new() };
        let destination = Destination { external_psks: vec![psk.clone()], ..to(None) };
        let mut pair = scene.start_to(destination, at(0));
        pair.run();
        if is_known {
            assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
            assert_eq!(pair.client.facts().psk, Some(PskKind::External));
            continue;
        }
        let refused = matches!(&pair.to_client.error, Some(Error::PeerRejected(refused))
            if refused.alert == AlertDescription::BAD_CERTIFICATE && refused.reason.contains("PSK"));
        assert!(refused, "{:?}", pair.to_client.error);
        let received = Some(Error::AlertReceived(AlertDescription::BAD_CERTIFICATE));
        assert_eq!(pair.to_server.error, received);
    }
}
