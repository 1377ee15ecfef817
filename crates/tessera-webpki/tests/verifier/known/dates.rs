//! A known chain over time.

use tessera::wire::AlertDescription;

use super::{
    assert_judged_whole, assert_known, assert_refused, intermediate, server_below, store, trusting,
};
use crate::pki::{BEFORE, NOT_AFTER, Peer, root, server_params, with};

/// 2030-06-01, when the intermediate expires.
const INTERMEDIATE_ENDS: u64 = 1_906_502_400;

#[test]
fn a_known_chain_is_refused_when_its_end_entity_has_expired() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = Peer::new(&server_params(), &root).as_server();
    let at = |unix| with(server.clone(), |it| it.unix = Some(unix));
    assert_judged_whole(&verifier, &store, &server);
    for unix in [BEFORE + 1, NOT_AFTER] {
        assert_known(&verifier, &store, &at(unix));
    }
    for unix in [0, BEFORE, NOT_AFTER + 1, u64::MAX] {
        assert_refused(&verifier, &store, &at(unix), AlertDescription::CERTIFICATE_EXPIRED);
    }
    assert_known(&verifier, &store, &server);
}

#[test]
fn a_known_chain_is_refused_when_an_intermediate_has_expired() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = server_below(&intermediate(&root)).as_server();
    let at = |unix| with(server.clone(), |it| it.unix = Some(unix));
    assert_judged_whole(&verifier, &store, &server);
    assert_known(&verifier, &store, &at(INTERMEDIATE_ENDS));
    let late = at(INTERMEDIATE_ENDS + 1);
    assert_refused(&verifier, &store, &late, AlertDescription::CERTIFICATE_EXPIRED);
}

#[test]
fn a_known_chain_is_refused_without_a_clock() {
    let (root, store) = (root("root"), store());
    let verifier = trusting(&root, &store);
    let server = Peer::new(&server_params(), &root).as_server();
    assert_judged_whole(&verifier, &store, &server);
    let timeless = with(server, |it| it.unix = None);
    assert_refused(&verifier, &store, &timeless, AlertDescription::INTERNAL_ERROR);
}
