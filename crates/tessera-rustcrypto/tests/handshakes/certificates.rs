//! With certificates of both ends: every suite and every group, in both roles.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::Provider;
use tessera::handshake::ClientAuthentication;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::{Pair, at};
use tessera_pki::{Authority, Leaf};
use tessera_rustcrypto::{CHAIN_ALGORITHMS, HANDSHAKE_ALGORITHMS, SigningKey};
use tessera_webpki::{Algorithms, WebPkiVerifier};

use crate::{complete, provider};

const SERVER_NAME: &str = "server.example";

/// The algorithms of the crate's features.
const ALGORITHMS: Algorithms =
    Algorithms { handshake: HANDSHAKE_ALGORITHMS, chain: CHAIN_ALGORITHMS, chain_schemes: &[] };

/// One end's cryptography, verifier and certificate.
struct End {
    provider: Provider,
    verifier: Arc<WebPkiVerifier>,
    credential: Credential,
}

fn ours(root: &Authority, leaf: &Leaf) -> End {
    let key = SigningKey::from_pkcs8(&leaf.key_der()).unwrap();
    End {
        provider: provider(),
        verifier: Arc::new(WebPkiVerifier::with_algorithms(&[root.der()], ALGORITHMS).unwrap()),
        credential: Credential::new(leaf.chain.clone(), PrivateKey::Signs(Arc::new(key))),
    }
}

fn theirs(root: &Authority, leaf: &Leaf) -> End {
    End {
        provider: tessera_aws_lc::provider(),
        verifier: Arc::new(WebPkiVerifier::new(&[root.der()]).unwrap()),
        credential: leaf.credential(),
    }
}

fn configs(client: End, server: End) -> (ClientConfig, ServerConfig) {
    let mut client_config = ClientConfig::new(client.provider, client.verifier);
    client_config.credentials = vec![client.credential];
    let mut server_config = ServerConfig::new(server.provider, vec![server.credential]);
    server_config.client_authentication = ClientAuthentication::Required(server.verifier);
    (client_config, server_config)
}

fn destination() -> Destination {
    Destination { server_name: SERVER_NAME.into(), ..Default::default() }
}

#[test]
fn both_roles_agree_with_aws_lc_on_every_suite_and_group() {
    let root = Authority::new("root");
    let between = root.below("between");
    for ours_is_client in [true, false] {
        for suite in provider().suites {
            let theirs = tessera_aws_lc::provider();
            let groups = provider().groups.iter().map(|group| group.group());
            for group in groups.filter(|group| theirs.group(*group).is_some()) {
                let leaves = (between.issue(SERVER_NAME), between.issue(SERVER_NAME));
                let ends = (ours(&root, &leaves.0), self::theirs(&root, &leaves.1));
                let (mut client, mut server) = match ours_is_client {
                    true => configs(ends.0, ends.1),
                    false => configs(ends.1, ends.0),
                };
                client.suites = vec![suite.id];
                client.groups = vec![group];
                server.groups = vec![group];
                let mut pair = Pair::start(&client, &server, destination(), at(0)).unwrap();
                complete(&mut pair);
                assert_eq!(pair.client.facts().suite, Some(suite.id));
                assert_eq!(pair.client.facts().group, Some(group));
            }
        }
    }
}

/// The engine's checks of a signature reach this crate's.
#[test]
fn a_chain_of_another_root_is_refused() {
    let (root, other) = (Authority::new("root"), Authority::new("root"));
    let leaf = root.issue(SERVER_NAME);
    let (client, server) = configs(ours(&other, &leaf), theirs(&root, &leaf));
    let mut pair = Pair::start(&client, &server, destination(), at(0)).unwrap();
    pair.run();
    assert!(pair.to_client.error.is_some() && !pair.to_client.complete);
}

#[cfg(feature = "ml-dsa")]
#[test]
fn a_server_with_ml_dsa_44_is_accepted() {
    use tessera::wire::SignatureScheme;
    use tessera_pki::rcgen::{KeyPair, PKCS_ML_DSA_44};
    let root = Authority::with("root", &PKCS_ML_DSA_44, |_| ());
    let key = KeyPair::generate_for(&PKCS_ML_DSA_44).unwrap();
    let leaf = root.issue_for(key, &[SERVER_NAME], |_| ());
    let verifier = WebPkiVerifier::with_algorithms(&[root.der()], ALGORITHMS).unwrap();
    let client = ClientConfig::new(provider(), Arc::new(verifier));
    let server = ServerConfig::new(tessera_aws_lc::provider(), vec![leaf.credential()]);
    let mut pair = Pair::start(&client, &server, destination(), at(0)).unwrap();
    complete(&mut pair);
    assert_eq!(pair.client.facts().signature_scheme, Some(SignatureScheme::MLDSA44));
}
