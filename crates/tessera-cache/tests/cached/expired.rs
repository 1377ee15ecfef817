//! Certificates that expire while both ends have the chains cached, or what their verifiers remember.

use std::sync::Arc;

use tessera::Error;
use tessera::wire::AlertDescription;
use tessera_cache::{Carrier, Metrics, PublicIds};
use tessera_harness::{Pair, at};

use crate::known::{Keys, ends_with};
use crate::{Ends, NamingVerifier, alert, chain, hits_of, in_hello};

/// The last second but one before the certificates of `known` expire, in 2040, and one after that.
const BEFORE: u64 = 2_208_988_799 - 1_800_000_000;
const AFTER: u64 = BEFORE + 2;

/// Makes ends of both carriers that know each other, with whole chains cached, or hashes of those that
/// verifiers remember.
fn known() -> [Ends; 4] {
    let both = [Carrier::default(), Carrier::PAPER].map(|carrier| {
        let remembering = ends_with(Keys::P256, carrier).0;
        let mut keeping = ends_with(Keys::P256, carrier).0;
        keeping.client_uses(carrier);
        keeping.server_uses(carrier);
        [keeping, remembering]
    });
    let [[a, b], [c, d]] = both;
    let all = [a, b, c, d];
    for ends in &all {
        assert_eq!(ends.hits(), (false, false));
        assert_eq!(ends.hits(), (true, true));
    }
    all
}

/// Returns whether the server offers chains, which the carrier paper lists before the CertificateRequest;
/// that doesn't expire.
fn offers_chains(ends: &Ends, pair: &Pair) -> bool {
    let is_of_chains = |body: Vec<u8>| ends.carrier == Carrier::default() || body[2] == 1;
    in_hello(pair, ends.chains()).is_some_and(is_of_chains)
}

#[test]
fn chains_that_have_expired_are_not_offered() {
    for ends in known() {
        let start = |seconds| ends.scene.start(None, at(seconds));
        let mut pair = start(AFTER);
        assert!(!offers_chains(&ends, &pair));
        let before = ends.server.metrics();
        pair.client_to_server();
        let after = ends.server.metrics();
        let missed = |it: &Metrics| it.missed_expired + it.missed_forgotten;
        assert_eq!(missed(&after), missed(&before) + 1);
        assert!(missed(&ends.client.metrics()) > 0);
        assert!(offers_chains(&ends, &start(BEFORE)));
    }
}

/// A verifier may see the certificates later than this.
#[test]
fn chains_are_not_offered_in_their_last_second() {
    for ends in known() {
        assert!(!offers_chains(&ends, &ends.scene.start(None, at(BEFORE + 1))));
    }
}

#[test]
fn a_cached_server_that_expires_after_it_was_offered_is_refused() {
    for ends in known() {
        let mut pair = ends.scene.start(None, at(BEFORE));
        assert!(offers_chains(&ends, &pair));
        pair.client_to_server();
        pair.now = at(AFTER);
        pair.run();
        assert_eq!(alert(&pair.to_client.error), Some(AlertDescription::CERTIFICATE_EXPIRED));
        assert!(hits_of(&pair).0);
        // The next one offers nothing, whatever its clock shows.
        assert!(!offers_chains(&ends, &ends.start()));
    }
}

/// To a client that doesn't take part, the server offers to recognise its chain, until that expires.
#[test]
fn a_stock_clients_chain_that_has_expired_is_not_offered() {
    let public = PublicIds::ObserversRecogniseChains;
    let mut ends = ends_with(Keys::P256, Carrier::default()).0;
    ends.scene.client.verifier = Arc::new(NamingVerifier::new("servers"));
    ends.scene.server.credentials = vec![chain(&[b's'; 900], &[b'i'; 700])];
    crate::public::use_public_ids(&mut ends, public, public);
    assert_eq!(ends.hits(), (false, false));
    let recognised = |seconds| {
        let mut pair = ends.scene.start(None, at(seconds));
        pair.run();
        hits_of(&pair).1
    };
    assert_eq!([BEFORE, BEFORE + 1, AFTER].map(recognised), [true, false, false]);
}

/// The server conceals the reason. The proof is right, so it is the client itself, and its entry is useless.
#[test]
fn a_cached_client_that_expires_after_it_was_offered_is_refused_and_forgotten() {
    for ends in known() {
        let mut pair = ends.scene.start(None, at(BEFORE));
        pair.client_to_server();
        pair.server_to_client();
        pair.now = at(AFTER);
        pair.run();
        assert_eq!(hits_of(&pair), (true, true));
        let heard = Error::AlertReceived(AlertDescription::DECRYPT_ERROR);
        assert_eq!(pair.to_client.error, Some(heard));
        let told = pair.to_server.error.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains("CERTIFICATE_EXPIRED"), "{told}");
        assert_eq!(ends.server.metrics().entries, 0, "{:?}", ends.carrier);
    }
}
