//! What the provider offers, in which order and with which limits.

use tessera::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tessera_aws_lc::{provider, provider_with_rare_groups};

#[test]
fn the_provider_lists_its_suites_in_order_of_preference() {
    let suites: Vec<_> = provider().suites.iter().map(|suite| suite.id).collect();
    assert_eq!(
        suites,
        [
            CipherSuite::TLS_AES_128_GCM_SHA256,
            CipherSuite::TLS_AES_256_GCM_SHA384,
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256
        ]
    );
    for suite in provider().suites {
        assert_eq!(suite.integrity_limit, 1 << 36);
    }
    assert_eq!(provider().suites[0].confidentiality_limit, 1 << 24);
    assert_eq!(provider().suites[1].confidentiality_limit, 1 << 24);
    assert_eq!(provider().suites[2].confidentiality_limit, u64::MAX);
}

#[test]
fn the_provider_lists_its_groups_in_order_of_preference() {
    let groups: Vec<_> = provider().groups.iter().map(|group| group.group()).collect();
    assert_eq!(
        groups,
        [
            NamedGroup::X25519MLKEM768,
            NamedGroup::X25519,
            NamedGroup::SECP256R1,
            NamedGroup::SECP384R1,
            NamedGroup::MLKEM768
        ]
    );
    let all: Vec<_> = provider_with_rare_groups().groups.iter().map(|g| g.group()).collect();
    assert_eq!(all[..5], groups);
    assert_eq!(all[5..], [NamedGroup::SECP521R1, NamedGroup::MLKEM1024]);
    let kinds: Vec<_> = provider().one_time_keys.iter().map(|keys| keys.kind()).collect();
    assert_eq!(kinds, [NamedGroup::X25519MLKEM768, NamedGroup::X25519]);
}

#[test]
fn the_provider_has_every_kem_for_static_keys() {
    for scheme in [
        SignatureScheme::KEM_X25519,
        SignatureScheme::KEM_MLKEM512,
        SignatureScheme::KEM_MLKEM768,
        SignatureScheme::KEM_MLKEM1024,
        SignatureScheme::KEM_X25519MLKEM768,
    ] {
        assert_eq!(provider().kem(scheme).map(|kem| kem.group()), scheme.kem());
    }
    assert!(provider().kem(SignatureScheme::ED25519).is_none());
}

#[test]
fn the_provider_draws_different_random_bytes_each_time() {
    let mut first = [0; 32];
    let mut second = [0; 32];
    provider().random.fill(&mut first).unwrap();
    provider().random.fill(&mut second).unwrap();
    assert_ne!(first, [0; 32]);
    assert_ne!(first, second);
    provider().random.fill(&mut []).unwrap();
}

#[test]
fn the_salt_of_a_handshake_without_psk_is_known() {
    for suite in provider().suites {
        assert!(suite.hash.derived_without_psk().is_some(), "{suite:?}");
    }
}
