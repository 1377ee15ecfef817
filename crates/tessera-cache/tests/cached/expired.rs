//! Certificates that expire while both ends have them cached, the chains or what their verifiers remember.

use std::sync::Arc;

use tessera::Error;
use tessera::wire::{AlertDescription, ExtensionType};
use tessera_cache::{Carrier, ClientCache, Metrics, ServerCache};
use tessera_harness::{Pair, at};

use crate::known::{Keys, ends_with};
use crate::{Ends, alert, hits_of, in_hello};

/// The last second but one before the certificates of `known` expire, in 2040, and the one after they did.
const BEFORE: u64 = 2_208_988_799 - 1_800_000_000;
const AFTER: u64 = BEFORE + 2;

/// Ends that know each other: whole chains are cached, and then hashes of those that verifiers remember.
fn known() -> [Ends; 2] {
    let remembering = ends_with(Keys::P256, Carrier::default()).0;
    let mut keeping = ends_with(Keys::P256, Carrier::default()).0;
    let provider = keeping.scene.client.provider;
    keeping.client = Arc::new(ClientCache::new(&provider).expect("a cache"));
    keeping.server = Arc::new(ServerCache::new(&provider).expect("a cache"));
    keeping.scene.client.certificate_codecs = vec![keeping.client.clone()];
    keeping.scene.server.certificate_codecs = vec![keeping.server.clone()];
    for ends in [&keeping, &remembering] {
        assert_eq!(ends.hits(), (false, false));
        assert_eq!(ends.hits(), (true, true));
    }
    [keeping, remembering]
}

fn offers_chains(pair: &Pair) -> bool {
    in_hello(pair, ExtensionType::COMPRESS_CERTIFICATE).is_some()
}

#[test]
fn chains_that_have_expired_are_not_offered() {
    for ends in known() {
        let start = |seconds| ends.scene.start(None, at(seconds));
        assert!(offers_chains(&start(BEFORE)));
        let mut pair = start(AFTER);
        assert!(!offers_chains(&pair));
        let before = ends.server.metrics();
        pair.client_to_server();
        let after = ends.server.metrics();
        let missed = |it: &Metrics| it.missed_expired + it.missed_forgotten;
        assert_eq!(missed(&after), missed(&before) + 1);
        assert!(missed(&ends.client.metrics()) > 0);
    }
}

#[test]
fn a_cached_server_that_expires_after_it_was_offered_is_refused() {
    for ends in known() {
        let mut pair = ends.scene.start(None, at(BEFORE));
        assert!(offers_chains(&pair));
        pair.client_to_server();
        pair.now = at(AFTER);
        pair.run();
        assert_eq!(alert(&pair.to_client.error), Some(AlertDescription::CERTIFICATE_EXPIRED));
        assert!(pair.client.facts().peer_certificate.is_some_and(|it| it.len == 44));
        // The next one offers nothing, whatever its clock says.
        assert!(!offers_chains(&ends.start()));
    }
}

/// The server doesn't say why.
#[test]
fn a_cached_client_that_expires_after_it_was_offered_is_refused() {
    for ends in known() {
        let mut pair = ends.scene.start(None, at(BEFORE));
        pair.client_to_server();
        pair.server_to_client();
        pair.now = at(AFTER);
        pair.run();
        assert_eq!(hits_of(&pair), (true, true));
        assert!(!pair.to_server.complete);
        let heard = Error::AlertReceived(AlertDescription::DECRYPT_ERROR);
        assert_eq!(pair.to_client.error, Some(heard));
    }
}
