//! What the provider offers, in which order and with which limits, and where its random bytes come from.

use tessera::crypto::{AgreementError, RandomFailed};
use tessera::wire::{CipherSuite, NamedGroup};

use crate::provider;
use crate::source::Nothing;

#[test]
fn the_provider_lists_what_its_features_name_in_order_of_preference() {
    let suites: Vec<_> = provider().suites.iter().map(|suite| suite.id).collect();
    let expected = [
        (cfg!(feature = "chacha20poly1305"), CipherSuite::TLS_CHACHA20_POLY1305_SHA256),
        (cfg!(feature = "aes-gcm"), CipherSuite::TLS_AES_128_GCM_SHA256),
        (cfg!(feature = "aes-gcm"), CipherSuite::TLS_AES_256_GCM_SHA384),
    ];
    assert_eq!(suites, enabled(expected));
    let groups: Vec<_> = provider().groups.iter().map(|group| group.group()).collect();
    let expected = [
        (cfg!(feature = "ml-kem"), NamedGroup::X25519MLKEM768),
        (cfg!(feature = "x25519"), NamedGroup::X25519),
        (cfg!(feature = "p256"), NamedGroup::SECP256R1),
        (cfg!(feature = "ml-kem"), NamedGroup::MLKEM768),
        (cfg!(feature = "ml-kem-1024"), NamedGroup::MLKEM1024),
        (cfg!(feature = "ml-kem-512"), NamedGroup::MLKEM512),
    ];
    assert_eq!(groups, enabled(expected));
    assert!(provider().one_time_keys.is_empty());
}

fn enabled<T>(list: impl IntoIterator<Item = (bool, T)>) -> Vec<T> {
    list.into_iter().filter(|(enabled, _)| *enabled).map(|(_, item)| item).collect()
}

/// RFC 8446 §5.5, RFC 9147 §4.5.3.
#[test]
fn the_limits_of_the_suites_are_those_of_aws_lc() {
    for suite in provider().suites {
        let theirs = tessera_aws_lc::provider().suite(suite.id).expect("it has all of them");
        assert_eq!(suite.confidentiality_limit, theirs.confidentiality_limit, "{suite:?}");
        assert_eq!(suite.integrity_limit, theirs.integrity_limit, "{suite:?}");
    }
}

#[test]
fn without_random_bytes_no_key_is_made() {
    let pairs = [
        (provider(), tessera_rustcrypto::provider::<Nothing>()),
        #[cfg(feature = "one-time-experimental")]
        (
            crate::source::one_time_provider(),
            tessera_rustcrypto::experimental_one_time_provider::<Nothing>(),
        ),
        #[cfg(feature = "fo-skip-experimental")]
        (
            crate::source::fo_skip_provider(),
            tessera_rustcrypto::experimental_fo_skip_provider::<Nothing>(),
        ),
    ];
    for (provider, without) in pairs {
        assert_eq!(without.random.fill(&mut [0]), Err(RandomFailed));
        for (with, group) in provider.groups.iter().zip(without.groups) {
            assert_eq!(group.generate().map(|_| ()), Err(AgreementError::Provider));
            let share = with.generate().unwrap().share().to_vec();
            let encapsulated = group.encapsulate(&share).map(|_| ());
            assert_eq!(encapsulated, Err(AgreementError::Provider), "{:?}", group.group());
        }
    }
}
