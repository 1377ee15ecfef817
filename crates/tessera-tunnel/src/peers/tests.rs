//! Verifies chains that the peer didn't send.

use std::path::Path;
use std::{fs, process};

use tessera::Role;
use tessera::auth::{PeerVerifier, Proof, VerifyPeer, chain_hash};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_kit::clock::unix;
use tessera_pki::Authority;
use tessera_pki::rcgen::SigningKey;

use super::allowed;
use crate::config::{Anchors, Peers};

/// The chain verifier knows the chain, and would accept its hash.
#[test]
fn a_chain_that_is_known_is_refused_where_it_is_not_shown() {
    let ca = Authority::new("root");
    let leaf = ca.issue("client.example");
    let roots = std::env::temp_dir().join(format!("tessera-tunnel-peers-{}.pem", process::id()));
    fs::write(&roots, ca.pem()).unwrap();
    let allowed = any_of(&roots);
    fs::remove_file(&roots).unwrap();

    let proof = Proof::Signature {
        scheme: SignatureScheme::ECDSA_SECP256R1_SHA256,
        signed: b"a transcript".to_vec(),
        signature: leaf.key.sign(b"a transcript").unwrap(),
    };
    let mut shown = VerifyPeer::new(Role::Client, leaf.chain, proof);
    shown.unix = Some(unix().as_secs());
    let mut named = shown.clone();
    named.known = chain_hash(tessera_aws_lc::provider().sha256().unwrap(), &shown.chain);
    named.chain.clear();
    assert!(matches!(allowed.verify(&shown), Reply::Now(Ok(_))));
    let authorities = &allowed.chains.as_ref().unwrap().verifier;
    assert!(matches!(authorities.verify(&named), Reply::Now(Ok(_))));
    let Reply::Now(Err(refused)) = allowed.verify(&named) else { panic!("it was accepted") };
    assert_eq!(refused.alert, AlertDescription::BAD_CERTIFICATE);
    assert!(refused.reason.contains("have them sent"), "{}", refused.reason);
}

fn any_of(roots: &Path) -> super::AllowedPeers {
    let ca = Some(Anchors::File(roots.to_owned()));
    let peers = Peers { ca, any_of_ca: true, ..Peers::default() };
    allowed(&peers, Role::Client, "server.test").unwrap()
}
