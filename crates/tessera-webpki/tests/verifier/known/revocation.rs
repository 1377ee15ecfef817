//! A known chain, with revocation lists that are loaded and end.

use rcgen::date_time_ymd;
use tessera::wire::AlertDescription;
use tessera_webpki::{ChainStore, KnownChains, UnknownStatus};

use super::{
    assert_judged_whole, assert_known, assert_refused, intermediate, server_below, store, trusting,
};
use crate::pki::{Ca, crl, crl_with, root, with};

fn checking(
    root: &Ca,
    lists: &[Vec<u8>],
    unknown: UnknownStatus,
    store: &ChainStore,
) -> KnownChains {
    KnownChains::new(crate::pki::trusting(root).with_crls(lists, unknown).unwrap(), store)
}

/// The end entity has serial number 7, the intermediate 9.
#[test]
fn a_known_chain_is_refused_by_a_list_that_is_loaded_later() {
    let (root, store) = (root("root"), store());
    let issuer = intermediate(&root);
    let server = server_below(&issuer).as_server();
    for unknown in [UnknownStatus::Accept, UnknownStatus::Reject] {
        let lists = |upper: &[u64], lower: &[u64]| [crl(&root, upper), crl(&issuer, lower)];
        let earlier = checking(&root, &lists(&[], &[]), unknown, &store);
        assert_judged_whole(&earlier, &store, &server);
        assert_known(&earlier, &store, &server);
        for revoking in [lists(&[9], &[]), lists(&[], &[7]), lists(&[9], &[7])] {
            let later = checking(&root, &revoking, unknown, &store);
            assert_refused(&later, &store, &server, AlertDescription::CERTIFICATE_REVOKED);
        }
        let harmless = checking(&root, &lists(&[8], &[8]), unknown, &store);
        assert_judged_whole(&harmless, &store, &server);
        assert_known(&harmless, &store, &server);
    }
    // A chain that was learned without any list.
    let without = trusting(&root, &store);
    assert_judged_whole(&without, &store, &server);
    let lists = [crl(&root, &[]), crl(&issuer, &[7])];
    let later = checking(&root, &lists, UnknownStatus::Reject, &store);
    assert_refused(&later, &store, &server, AlertDescription::CERTIFICATE_REVOKED);
}

/// 2030-12-01, the nextUpdate of the lists. The intermediate is expired then, so the end entity is the root's.
#[test]
fn a_known_chain_is_judged_whole_when_a_list_has_ended() {
    const ENDS: u64 = 1_922_313_600;
    let (root, store) = (root("root"), store());
    let server = crate::pki::Peer::new(&crate::pki::server_params(), &root).as_server();
    let at = |unix| with(server.clone(), |it| it.unix = Some(unix));

    let strict = checking(&root, &[crl(&root, &[])], UnknownStatus::Reject, &store);
    assert_judged_whole(&strict, &store, &server);
    assert_known(&strict, &store, &at(ENDS - 1));
    assert_refused(&strict, &store, &at(ENDS), AlertDescription::CERTIFICATE_UNKNOWN);
    assert_known(&strict, &store, &server);

    // If unknown status is accepted, a list revokes as long as it is loaded.
    let lenient = checking(&root, &[crl(&root, &[])], UnknownStatus::Accept, &store);
    assert_judged_whole(&lenient, &store, &server);
    assert_known(&lenient, &store, &at(ENDS));
}

/// The list has the same content but maybe another signer, which is checked on use.
#[test]
fn a_known_chain_is_judged_whole_by_a_list_that_only_looks_the_same() {
    let (root, store) = (root("root"), store());
    let issuer = intermediate(&root);
    let server = server_below(&issuer).as_server();
    let genuine = [crl(&root, &[]), crl(&issuer, &[])];
    let verifier = checking(&root, &genuine, UnknownStatus::Reject, &store);
    assert_judged_whole(&verifier, &store, &server);

    let forged = [crl(&root, &[]), crl(&crate::pki::root("intermediate"), &[])];
    let verifier = checking(&root, &forged, UnknownStatus::Reject, &store);
    assert_refused(&verifier, &store, &server, AlertDescription::CERTIFICATE_UNKNOWN);

    let next =
        |issuer: &Ca| crl_with(issuer, &[], |it| it.next_update = date_time_ymd(2030, 12, 2));
    let verifier = checking(&root, &[next(&root), next(&issuer)], UnknownStatus::Reject, &store);
    assert_judged_whole(&verifier, &store, &server);
}
