//! Peers identified by their public keys.

use rcgen::SignatureAlgorithm;
use tessera::auth::{PeerIdentity, PeerVerifier};
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use tessera_webpki::{Algorithms, ConfigError, PinnedKey, PinnedKeyVerifier};

use crate::pki::{
    Peer, client_params, judge, refused, root, scheme_of, server_params, signed_of, with,
};

fn peer() -> Peer {
    Peer::new(&server_params(), &root("root"))
}

fn pin(peer: &Peer, name: &str) -> PinnedKey {
    PinnedKey { public_key: peer.public_key(), name: name.into() }
}

fn knowing(peer: &Peer, name: &str) -> PinnedKeyVerifier {
    PinnedKeyVerifier::new(vec![pin(peer, name)]).unwrap()
}

#[test]
fn a_pinned_key_of_a_server_gives_the_servers_name() {
    let peer = peer();
    for name in ["server.example", "SERVER.example"] {
        let identity = judge(&knowing(&peer, name), &peer.raw(peer.as_server())).unwrap();
        assert_eq!((&identity.blob[..], identity.expires_at), (&b"server.example"[..], None));
    }
}

/// No clock is needed.
#[test]
fn a_pinned_key_of_a_client_gives_its_name_without_a_clock() {
    let peer = Peer::new(&client_params(&[]), &root("root"));
    let question = with(peer.raw(peer.as_client()), |it| it.unix = None);
    let identity = judge(&knowing(&peer, "pump 7"), &question).unwrap();
    assert_eq!((&identity.blob[..], identity.expires_at), (&b"key:pump 7"[..], None));
}

#[test]
fn every_kind_of_key_can_be_pinned() {
    let kinds: [(&'static SignatureAlgorithm, SignatureScheme); 5] = [
        (&rcgen::PKCS_ECDSA_P256_SHA256, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (&rcgen::PKCS_ECDSA_P384_SHA384, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (&rcgen::PKCS_ED25519, SignatureScheme::ED25519),
        (&rcgen::PKCS_RSA_SHA256, SignatureScheme::RSA_PSS_RSAE_SHA384),
        (&rcgen::PKCS_ML_DSA_65, SignatureScheme::MLDSA65),
    ];
    for (algorithm, scheme) in kinds {
        let peer = Peer::with(&server_params(), algorithm, &root("root"));
        let verifier = knowing(&peer, "server.example");
        let question = peer.raw(peer.as_server_with(scheme));
        assert!(judge(&verifier, &question).is_ok(), "{scheme:?}");
        let question = with(question, |it| *signed_of(it) = b"something else".to_vec());
        refused(&verifier, &question, AlertDescription::DECRYPT_ERROR);
    }
}

/// A key of one server is not valid for another; a client may have any.
#[test]
fn a_pinned_key_counts_for_its_own_name_alone() {
    let (one, two) = (peer(), peer());
    let pins = vec![pin(&one, "one.example"), pin(&one, "both.example"), pin(&two, "two.example")];
    let verifier = PinnedKeyVerifier::new(pins).unwrap();
    let of = |peer: &Peer, name: &str| {
        peer.raw(with(peer.as_server(), |it| it.server_name = Some(name.into())))
    };
    for (peer, name) in [(&one, "one.example"), (&one, "both.example"), (&two, "two.example")] {
        assert!(judge(&verifier, &of(peer, name)).is_ok());
    }
    for (peer, name) in [(&one, "two.example"), (&two, "one.example"), (&one, "server.example")] {
        refused(&verifier, &of(peer, name), AlertDescription::CERTIFICATE_UNKNOWN);
    }
    let identity = judge(&verifier, &two.raw(two.as_client())).unwrap();
    assert_eq!(identity.blob, b"key:two.example");
    let stranger = peer();
    refused(&verifier, &stranger.raw(stranger.as_client()), AlertDescription::CERTIFICATE_UNKNOWN);
}

#[test]
fn a_raw_public_key_that_is_none_is_refused() {
    let peer = peer();
    let verifier = knowing(&peer, "server.example");
    let raw = peer.raw(peer.as_server());
    let of = |chain: Vec<Vec<u8>>| with(raw.clone(), |it| it.chain = chain);
    let certificate = peer.chain.clone();
    refused(&verifier, &of(certificate), AlertDescription::DECODE_ERROR);
    refused(&verifier, &of(vec![b"garbage".to_vec()]), AlertDescription::DECODE_ERROR);
    let trailing = [&peer.public_key()[..], &[0]].concat();
    refused(&verifier, &of(vec![trailing]), AlertDescription::DECODE_ERROR);
    // The engine passes neither.
    for chain in [vec![], vec![peer.public_key(), peer.public_key()]] {
        refused(&verifier, &of(chain), AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
    refused(&verifier, &peer.as_server(), AlertDescription::UNSUPPORTED_CERTIFICATE);
    let unnamed = with(raw, |it| it.server_name = None);
    refused(&verifier, &unnamed, AlertDescription::INTERNAL_ERROR);
}

#[test]
fn pinned_keys_sign_with_the_handshake_schemes_alone() {
    let peer = peer();
    let verifier = knowing(&peer, "server.example");
    assert_eq!(verifier.certificate_types(), [CertificateType::RAW_PUBLIC_KEY]);
    let mut handshake: Vec<_> =
        Algorithms::AWS_LC.handshake.iter().map(|(scheme, _)| *scheme).collect();
    // The schemes of keys with several forms are adjacent, and offered once.
    handshake.dedup();
    assert_eq!(verifier.schemes(), handshake);
    let raw = peer.raw(peer.as_server());
    for scheme in [SignatureScheme::RSA_PKCS1_SHA256, SignatureScheme::ED25519] {
        let question = with(raw.clone(), |it| *scheme_of(it) = scheme);
        refused(&verifier, &question, AlertDescription::ILLEGAL_PARAMETER);
    }
}

#[test]
fn a_pinned_key_verifier_refuses_a_key_known_only_by_its_hash() {
    let peer = peer();
    for known in [None, Some([7; 32])] {
        let raw = peer.raw(peer.as_server());
        let question = with(raw, |it| (it.chain, it.known) = (vec![], known));
        let verifier = knowing(&peer, "server.example");
        refused(&verifier, &question, AlertDescription::UNSUPPORTED_CERTIFICATE);
    }
}

#[test]
fn a_pinned_key_verifier_needs_keys_with_sound_names() {
    assert_eq!(PinnedKeyVerifier::new(vec![]).unwrap_err(), ConfigError::NoKeys);
    let peer = peer();
    let longest = PeerIdentity::MAX_LEN - "key:".len();
    assert!(PinnedKeyVerifier::new(vec![pin(&peer, &"n".repeat(longest))]).is_ok());
    for name in [String::new(), "n".repeat(longest + 1)] {
        let error = PinnedKeyVerifier::new(vec![pin(&peer, &name)]).unwrap_err();
        assert_eq!(error, ConfigError::KeyName);
    }
    for public_key in [peer.chain[0].clone(), vec![]] {
        let pin = PinnedKey { public_key, name: "server.example".into() };
        let error = PinnedKeyVerifier::new(vec![pin]).unwrap_err();
        assert!(matches!(error, ConfigError::Key(_)), "{error}");
    }
}
