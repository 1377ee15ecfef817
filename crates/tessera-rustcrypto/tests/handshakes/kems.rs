//! Ends that authenticate by decapsulating, with AWS-LC at the other end.

use std::sync::Arc;

use tessera::auth::{Credential, PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::crypto::{Decapsulator, Provider};
use tessera::handshake::ClientAuthentication;
use tessera::resume::{KnownServerKey, PskKind};
use tessera::wire::SignatureScheme;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{Pair, at};
use tessera_pki::{Authority, KemLeaf};
use tessera_rustcrypto::KemKey;
use tessera_webpki::WebPkiVerifier;

use crate::{complete, provider};

const SERVER_NAME: &str = "server.example";

/// Returns the key of this PKCS#8, which ends with its seed (RFC 9935 §6).
fn ours(scheme: SignatureScheme, leaf: &KemLeaf) -> Arc<dyn Decapsulator> {
    let seed = leaf.key_der.last_chunk().expect("a seed");
    match scheme {
        SignatureScheme::KEM_MLKEM512 => Arc::new(KemKey::<2>::from_seed(seed)),
        SignatureScheme::KEM_MLKEM768 => Arc::new(KemKey::<3>::from_seed(seed)),
        SignatureScheme::KEM_MLKEM1024 => Arc::new(KemKey::<4>::from_seed(seed)),
        _ => panic!("no KEM of ML-KEM"),
    }
}

fn configs(
    scheme: SignatureScheme,
    ours_is_client: bool,
) -> (ClientConfig, ServerConfig, PeerPublicKey) {
    let root = Authority::new("root");
    let leaves = [0, 1].map(|_| root.issue_kem(scheme, &[SERVER_NAME], |_| ()));
    let verifier = || {
        let verifier = WebPkiVerifier::new(&[root.der()]).unwrap();
        Arc::new(verifier.accepting_kems(&[scheme]).unwrap())
    };
    let end = |is_ours: bool, leaf: &KemLeaf| -> (Provider, Credential) {
        if !is_ours {
            let key = PrivateKey::Decapsulates(Arc::new(leaf.key()));
            return (tessera_aws_lc::provider(), Credential::new(leaf.chain.clone(), key));
        }
        let key = PrivateKey::Decapsulates(ours(scheme, leaf));
        (provider(), Credential::new(leaf.chain.clone(), key))
    };
    let (of_client, client_credential) = end(ours_is_client, &leaves[0]);
    let (of_server, server_credential) = end(!ours_is_client, &leaves[1]);
    let mut client = ClientConfig::new(of_client, verifier());
    client.credentials = vec![client_credential];
    let mut server = ServerConfig::new(of_server, vec![server_credential]);
    server.client_authentication = ClientAuthentication::Required(verifier());
    let known = PeerPublicKey::new(scheme, leaves[1].key().public_key().to_vec());
    (client, server, known)
}

const SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::KEM_MLKEM768,
    #[cfg(feature = "ml-kem-512")]
    SignatureScheme::KEM_MLKEM512,
    #[cfg(feature = "ml-kem-1024")]
    SignatureScheme::KEM_MLKEM1024,
];

#[test]
fn both_roles_authenticate_to_aws_lc_with_every_kem() {
    for &scheme in SCHEMES {
        for ours_is_client in [true, false] {
            let (client, server, _) = configs(scheme, ours_is_client);
            let to = Destination { server_name: SERVER_NAME.into(), ..Default::default() };
            let mut pair = Pair::start(&client, &server, to, at(0)).unwrap();
            complete(&mut pair);
            assert_eq!(pair.client.facts().signature_scheme, Some(scheme));
            assert_eq!(pair.server.facts().signature_scheme, Some(scheme));
        }
    }
}

#[test]
fn a_known_key_of_either_provider_is_agreed_on() {
    for &scheme in SCHEMES {
        for ours_is_client in [true, false] {
            let (client, mut server, public_key) = configs(scheme, ours_is_client);
            server.client_authentication = ClientAuthentication::None;
            let identity = PeerIdentity { blob: b"known".to_vec(), expires_at: None };
            let to = Destination {
                server_name: SERVER_NAME.into(),
                known_server_key: Some(Box::new(KnownServerKey { public_key, identity })),
                ..Default::default()
            };
            let mut pair = Pair::start(&client, &server, to, at(0)).unwrap();
            complete(&mut pair);
            assert_eq!(pair.client.facts().psk, Some(PskKind::KnownKey));
        }
    }
}
