//! Chains that travel as hashes.

use tessera::wire::ExtensionType;
use tessera_harness::Mode;

use crate::{Ends, in_hello};

#[test]
fn known_chains_travel_as_hashes_both_ways() {
    let ends = Ends::new(Mode::Mutual);
    assert_eq!(ends.hits(), (false, false));
    for _ in 0..5 {
        assert_eq!(ends.hits(), (true, true));
    }
    let (client, server) = ends.metrics();
    assert_eq!((client.sent_cached, client.received_cached), (5, 5));
    assert_eq!((server.sent_cached, server.received_cached), (5, 5));
    assert_eq!((client.missed_nothing_cached, server.missed_nothing_cached), (1, 1));
    assert_eq!((client.entries, server.entries), (1, 1));
}

#[test]
fn a_cached_certificate_has_44_bytes() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let pair = ends.connect();
    for facts in [pair.client.facts(), pair.server.facts()] {
        let (own, peer) = (facts.own_certificate, facts.peer_certificate);
        assert_eq!(own.map(|it| it.len), Some(44));
        assert_eq!(peer.map(|it| it.len), Some(44));
    }
}

#[test]
fn a_first_contact_says_that_the_client_takes_part() {
    let ends = Ends::new(Mode::Mutual);
    let typ = ExtensionType::CACHED_CERTIFICATES;
    assert_eq!(in_hello(&ends.connect(), typ), Some(Vec::new()));
    assert_eq!(in_hello(&ends.connect(), typ).map(|it| it.len()), Some(16));
}
