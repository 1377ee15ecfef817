//! Clients that open standard ciphertexts without re-encryption, with a server that doesn't know.

use std::sync::Arc;

use tessera::auth::{Credential, PeerIdentity, PeerPublicKey, PrivateKey};
use tessera::resume::KnownServerKey;
use tessera::wire::{AlertDescription, NamedGroup, SignatureScheme};
use tessera::{ClientConfig, Destination, Error, ServerConfig};
use tessera_harness::{Pair, at};
use tessera_pki::Authority;
use tessera_rustcrypto::{KemKey, experimental_fo_skip_provider};
use tessera_webpki::{Algorithms, WebPkiVerifier};

use crate::{AwsLc, complete};

const SERVER_NAME: &str = "server.example";

const ALGORITHMS: Algorithms = Algorithms {
    handshake: tessera_rustcrypto::HANDSHAKE_ALGORITHMS,
    chain: tessera_rustcrypto::CHAIN_ALGORITHMS,
    chain_schemes: &[],
};

fn client(verifier: WebPkiVerifier) -> ClientConfig {
    ClientConfig::new(experimental_fo_skip_provider::<AwsLc>(), Arc::new(verifier))
}

fn destination() -> Destination {
    Destination { server_name: SERVER_NAME.into(), ..Default::default() }
}

#[test]
fn a_server_that_signs_is_connected_to_on_the_standard_groups() {
    let root = Authority::new("root");
    let leaf = root.issue(SERVER_NAME);
    // Those that AWS-LC has at a server.
    for group in [NamedGroup::MLKEM768, NamedGroup::X25519MLKEM768] {
        let mut config =
            client(WebPkiVerifier::with_algorithms(&[root.der()], ALGORITHMS).unwrap());
        config.groups = vec![group];
        let mut server = ServerConfig::new(tessera_aws_lc::provider(), vec![leaf.credential()]);
        server.groups = vec![group];
        let mut pair = Pair::start(&config, &server, destination(), at(0)).unwrap();
        complete(&mut pair);
        assert_eq!(pair.client.facts().group, Some(group));
    }
}

/// Even one that leaves the secret as it was: keys follow from the transcript, too.
#[test]
fn a_ciphertext_that_was_changed_on_its_way_ends_the_handshake() {
    let root = Authority::new("root");
    let leaf = root.issue(SERVER_NAME);
    let mut config = client(WebPkiVerifier::with_algorithms(&[root.der()], ALGORITHMS).unwrap());
    let mut server = ServerConfig::new(tessera_aws_lc::provider(), vec![leaf.credential()]);
    for (group, len) in [(NamedGroup::MLKEM768, 1088), (NamedGroup::X25519MLKEM768, 1120_u16)] {
        config.groups = vec![group];
        server.groups = vec![group];
        // A coefficient of u, and the lowest bit of one of v, which is far less than its noise.
        for (byte, bits) in [(0, 0xff), (1087, 0x10)] {
            let mut pair = Pair::start(&config, &server, destination(), at(0)).unwrap();
            pair.client_to_server();
            let mut flight = pair.intercept_server();
            let share = [group.0.to_be_bytes(), len.to_be_bytes()].concat();
            let place = flight.windows(4).position(|window| window == share).unwrap() + 4;
            flight[place + byte] ^= bits;
            pair.deliver_to_client(&flight);
            let alert = pair.to_client.error.as_ref().and_then(Error::alert);
            assert_eq!(alert, Some(AlertDescription::BAD_RECORD_MAC), "{group:?}, {byte}");
        }
    }
}

#[test]
fn kem_authentication_refuses_groups_without_re_encryption() {
    let root = Authority::new("root");
    let verifier = || WebPkiVerifier::with_algorithms(&[root.der()], ALGORITHMS).unwrap();
    let refused = "groups: one that KEM authentication must not use; name others";
    let kems = verifier().accepting_kems(&[SignatureScheme::KEM_MLKEM768]).unwrap();
    let mut config = client(kems);
    for group in [NamedGroup::MLKEM768, NamedGroup::X25519MLKEM768] {
        config.groups = vec![NamedGroup::X25519, group];
        assert_eq!(config.clone().checked().err(), Some(Error::Configuration(refused)));
    }
    config.groups = vec![NamedGroup::X25519];
    assert!(config.checked().is_ok());

    // Nor does a server with such a key have them.
    let seed = [7; 64];
    let key = PrivateKey::Decapsulates(Arc::new(KemKey::<3>::from_seed(&seed)));
    let credential = Credential::raw_public_key(vec![0x30], key);
    let mut server = ServerConfig::new(experimental_fo_skip_provider::<AwsLc>(), vec![credential]);
    assert_eq!(server.clone().checked().err(), Some(Error::Configuration(refused)));
    server.groups = vec![NamedGroup::X25519];
    assert!(server.checked().is_ok());

    // A known key is the connection's, not the configuration's.
    let mut public_key = vec![0; 1184];
    tessera_kem::DecapsulationKey768::from_seed(&[7; 64])
        .encapsulation_key()
        .write(&mut public_key)
        .unwrap();
    let public_key = PeerPublicKey::new(SignatureScheme::KEM_MLKEM768, public_key);
    let identity = PeerIdentity { blob: b"known".to_vec(), expires_at: None };
    let known = Some(Box::new(KnownServerKey { public_key, identity }));
    let to = || Destination { known_server_key: known.clone(), ..destination() };
    let server = ServerConfig::new(tessera_aws_lc::provider(), vec![root.issue("x").credential()]);
    let mut config = client(verifier());
    let error = Pair::start(&config, &server, to(), at(0)).map(drop).unwrap_err();
    assert!(matches!(error, Error::Configuration(what) if what.starts_with("known_server_key")));
    config.groups = vec![NamedGroup::X25519];
    assert!(Pair::start(&config, &server, to(), at(0)).is_ok());
}
