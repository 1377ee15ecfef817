//! Sessions that began with a known server key, and keys that are swapped and withdrawn.

use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera::resume::{KnownServerKey, PskKind};
use tessera_harness::{Scene, credential, kem_credential, to};
use tessera_null_provider::{NULL_KEM_KEY, NullKemVerifier};

use crate::known_keys::{knowing, psks, run, scene};

#[test]
fn a_session_is_of_one_known_key_one_identity_and_one_policy() {
    let mut scene = scene();
    let session = |scene: &Scene| run(scene, knowing(&NULL_KEM_KEY, None)).to_client.sessions.pop();
    let resumes = |scene: &Scene, session, change: &dyn Fn(&mut KnownServerKey)| {
        let mut to = knowing(&NULL_KEM_KEY, session);
        change(to.known_server_key.as_mut().expect("set"));
        psks(&run(scene, to))[0] == Some(PskKind::Resumption)
    };
    assert!(resumes(&scene, session(&scene), &|_| ()));
    let renamed = |known: &mut KnownServerKey| known.identity.blob = b"another".to_vec();
    assert!(!resumes(&scene, session(&scene), &renamed));
    let before = session(&scene);
    scene.client.policy_epoch += 1;
    assert!(!resumes(&scene, before, &|_| ()));

    // A server that begins to require certificates accepts none of a client that it doesn't know.
    scene.client.credentials = vec![kem_credential()];
    let before = session(&scene);
    scene.server.client_authentication = ClientAuthentication::Required(Arc::new(NullKemVerifier));
    let pair = run(&scene, knowing(&NULL_KEM_KEY, before));
    assert_eq!(psks(&pair), [None; 2]);
    assert!(pair.server.facts().peer.is_some());
}

/// The configuration's verifier accepted it, so knowing a key changes nothing.
#[test]
fn a_session_that_began_with_a_certificate_resumes_where_a_key_is_known_too() {
    let scene = scene();
    let session = run(&scene, to(None)).to_client.sessions.pop();
    let pair = run(&scene, knowing(&[1; 1184], session));
    assert_eq!(psks(&pair), [Some(PskKind::Resumption); 2]);
    assert!(pair.client.facts().peer.as_ref().is_some_and(|peer| peer.blob.is_empty()));
}

/// The first was swapped for the second, and the first is withdrawn.
#[test]
fn a_swapped_key_is_unknown_once_it_is_withdrawn() {
    let mut scene = scene();
    let known = scene.server.credentials.clone();
    scene.server.credentials = vec![credential(), known[0].clone()];
    assert_eq!(psks(&run(&scene, knowing(&NULL_KEM_KEY, None))), [Some(PskKind::KnownKey); 2]);
    let withdrawn = run(&scene, knowing(&NULL_KEM_KEY, None)).to_client.sessions.pop();
    scene.server.credentials.truncate(1);
    assert_eq!(psks(&run(&scene, knowing(&NULL_KEM_KEY, None))), [None; 2]);
    // Its sessions are those of a client that still knows the key.
    let pair = run(&scene, knowing(&NULL_KEM_KEY, withdrawn));
    assert_eq!(psks(&pair), [Some(PskKind::Resumption); 2]);
}
