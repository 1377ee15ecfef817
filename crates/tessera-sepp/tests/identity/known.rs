//! Chains that were verified before aren't verified again, until a reload changes the trust.

use tessera::Role;
use tessera::auth::{PeerRejected, PeerVerifier, Proof, VerifyPeer, chain_hash};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_kit::clock::unix;
use tessera_pki::rcgen::SigningKey;
use tessera_sepp::identity::{Listener, SeppVerifier};
use tessera_sepp::reconnection::Mode;
use tessera_tokio::Connector;

use crate::world::{HOME, VISITED, World, meet};
use tessera_pki::{Authority, Leaf};

/// Returns a client that never resumes, because each call creates another.
fn client(world: &World, leaf: &Leaf) -> Connector {
    world.visited.careless(HOME, |it| it.credentials = vec![leaf.credential()])
}

/// Returns the question about a client that only names its chain, and has its key.
fn named(leaf: &Leaf) -> VerifyPeer {
    let signed = b"a transcript".to_vec();
    let signature = leaf.key.sign(&signed).unwrap();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let mut question =
        VerifyPeer::new(Role::Client, vec![], Proof::Signature { scheme, signed, signature });
    question.known = chain_hash(tessera_aws_lc::provider().sha256().unwrap(), &[&leaf.der()]);
    question.unix = Some(unix().as_secs());
    question
}

/// Returns whether the home network's SEPP knows the chain under its current configuration.
fn is_known(world: &World, leaf: &Leaf) -> bool {
    let tls = world.home.tls();
    let known = tls.standing().known();
    let anchor = known.anchors().get("visited").unwrap();
    match anchor.verifier.verify_without_names(&named(leaf)) {
        Ok(_) => true,
        Err(PeerRejected { alert: AlertDescription::BAD_CERTIFICATE, .. }) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_known_chain_is_judged_again_after_a_reload_with_another_list() {
    let world = World::new("");
    let leaf = world.visited_ca.issue_numbered(VISITED, 7);
    assert!(!is_known(&world, &leaf));
    // Known the second time, and the third time after a list that revokes another certificate.
    for (serials, was_known) in [(None, false), (None, true), (Some(99), false), (None, true)] {
        if let Some(serial) = serials {
            world.home.write("visited.crl", world.visited_ca.revoking(&[serial]));
            world.home.reload(&world.home_words);
        }
        assert_eq!(is_known(&world, &leaf), was_known);
        let met = meet(&client(&world, &leaf), HOME, world.home.n32f(), b"").await;
        assert_eq!(met.mode(), Mode::Full);
        assert!(is_known(&world, &leaf));
    }
    // A reload of the same files.
    world.home.reload(&world.home_words);
    assert!(is_known(&world, &leaf));
    world.home.write("visited.crl", world.visited_ca.revoking(&[7]));
    world.home.reload(&world.home_words);
    for _ in 0..2 {
        assert!(!is_known(&world, &leaf));
        let met = meet(&client(&world, &leaf), HOME, world.home.n32f(), b"").await;
        let refused = Some(AlertDescription::CERTIFICATE_REVOKED);
        assert_eq!(met.server_alert(), refused, "{:?}", met.server);
    }
}

#[tokio::test]
async fn a_known_chain_is_judged_again_after_a_reload_with_another_root() {
    let world = World::new("");
    let leaf = world.visited_ca.issue_numbered(VISITED, 7);
    let met = meet(&client(&world, &leaf), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
    assert!(is_known(&world, &leaf));
    let other = Authority::new("another");
    world.home.write("visited.pem", other.pem());
    world.home.write("visited.crl", other.revoking(&[]));
    world.home.reload(&world.home_words);
    assert!(!is_known(&world, &leaf));
    let met = meet(&client(&world, &leaf), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.server_alert(), Some(AlertDescription::UNKNOWN_CA), "{:?}", met.server);
}

/// Names and networks are read from the certificate itself.
#[tokio::test]
async fn a_chain_that_is_known_is_refused_where_it_is_not_shown() {
    let world = World::new("");
    let leaf = world.visited_ca.issue_numbered(VISITED, 7);
    let met = meet(&client(&world, &leaf), HOME, world.home.n32f(), b"").await;
    assert_eq!(met.mode(), Mode::Full);
    assert!(is_known(&world, &leaf));
    let (known, associations) =
        (world.home.tls().standing().known().clone(), world.home.associations.clone());
    let verifier = SeppVerifier::of_clients(known, Listener::N32f, associations);
    let Reply::Now(Err(refused)) = verifier.verify(&named(&leaf)) else {
        panic!("it was accepted")
    };
    assert_eq!(refused.alert, AlertDescription::BAD_CERTIFICATE);
    assert!(refused.reason.contains("have them sent"), "{}", refused.reason);
}
