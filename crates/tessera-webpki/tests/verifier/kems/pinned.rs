//! Raw public keys of KEMs (RFC 7250).

use tessera::auth::{PeerVerifier, Proof};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::{ConfigError, PinnedKey, PinnedKeyVerifier};

use super::{ALL, KemPeer, asked, assert_accepted, judge};
use crate::pki::{Peer, refused, root, server_params, with};

fn peer(scheme: SignatureScheme) -> KemPeer {
    KemPeer::new(&server_params(), scheme, &root("root"))
}

fn pin(info: &[u8]) -> PinnedKey {
    PinnedKey { public_key: info.to_vec(), name: "server.example".into() }
}

fn knowing(peer: &KemPeer) -> PinnedKeyVerifier {
    PinnedKeyVerifier::new(vec![pin(peer.key.public_key_info())]).unwrap()
}

#[test]
fn pinned_keys_of_every_kem_are_accepted() {
    for scheme in ALL {
        let peer = peer(scheme);
        let verifier = knowing(&peer).accepting_kems(&ALL).unwrap();
        let (server, client) = (peer.raw(peer.as_server()), peer.raw(peer.as_client()));
        assert_accepted(&verifier, &peer, &server);
        assert_accepted(&verifier, &peer, &client);
        assert_eq!(judge(&verifier, &server).unwrap().identity.blob, b"server.example");
        assert_eq!(judge(&verifier, &client).unwrap().identity.blob, b"key:server.example");
        let alone = knowing(&peer).accepting_kems_alone(&[scheme]).unwrap();
        assert_eq!(alone.schemes(), [scheme]);
        assert_accepted(&alone, &peer, &server);
    }
}

#[test]
fn pinned_keys_of_kems_are_refused_like_every_other() {
    let (known, other) = (peer(ALL[1]), peer(ALL[1]));
    let verifier = knowing(&known).accepting_kems(&ALL).unwrap();
    let good = known.raw(known.as_server());
    for (question, alert) in [
        (other.raw(other.as_server()), AlertDescription::CERTIFICATE_UNKNOWN),
        (
            with(good.clone(), |it| it.server_name = Some("other.example".into())),
            AlertDescription::CERTIFICATE_UNKNOWN,
        ),
        (known.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE),
        (
            with(good.clone(), |it| it.proof = Proof::Kem { scheme: ALL[0] }),
            AlertDescription::UNSUPPORTED_CERTIFICATE,
        ),
        (with(good.clone(), |it| it.chain[0].push(0)), AlertDescription::BAD_CERTIFICATE),
        (with(good.clone(), |it| it.chain[0].clear()), AlertDescription::BAD_CERTIFICATE),
    ] {
        refused(&verifier, &question, alert);
    }
    // Pinned, but no KEM is accepted.
    assert_eq!(knowing(&known).kem_scheme(&asked(&good)), Some(ALL[1]));
    refused(&knowing(&known), &good, AlertDescription::UNSUPPORTED_CERTIFICATE);
}

#[test]
fn a_verifier_of_pinned_kems_alone_accepts_no_signature() {
    let signing = Peer::new(&server_params(), &root("root"));
    let question = signing.raw(signing.as_server());
    let verifier = || PinnedKeyVerifier::new(vec![pin(&signing.public_key())]).unwrap();
    assert!(judge(&verifier().accepting_kems(&ALL).unwrap(), &question).is_ok());
    let alone = verifier().accepting_kems_alone(&ALL).unwrap();
    refused(&alone, &question, AlertDescription::ILLEGAL_PARAMETER);
    assert!(!alone.is_proof_right(&question));
    assert_eq!(verifier().accepting_kems(&[]).unwrap_err(), ConfigError::Kem);
    assert_eq!(verifier().accepting_kems_alone(&[]).unwrap_err(), ConfigError::Kem);
}

#[test]
fn the_kems_belong_to_the_policy_of_pinned_keys() {
    let peer = peer(ALL[3]);
    let plain = knowing(&peer).policy();
    let some = knowing(&peer).accepting_kems(&ALL[3..]).unwrap().policy();
    let all = knowing(&peer).accepting_kems(&ALL).unwrap().policy();
    let alone = knowing(&peer).accepting_kems_alone(&ALL).unwrap().policy();
    assert!(plain != some && some != all && all != alone);
    assert!(all.as_bytes().starts_with(plain.as_bytes()));
}
