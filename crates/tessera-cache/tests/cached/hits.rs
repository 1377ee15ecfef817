//! Chains that are sent as hashes.

use std::sync::Arc;

use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::ClientAuthentication;
use tessera::wire::{CertificateType, ExtensionType, NamedGroup};
use tessera_cache::Metrics;
use tessera_harness::{Mode, to};
use tessera_null_provider::NullSigner;

use crate::{Ends, NamingVerifier, chain, hits_of, in_hello};

#[test]
fn known_chains_travel_as_hashes_both_ways() {
    for ends in [Mode::Mutual, Mode::Retry].into_iter().flat_map(Ends::of_both) {
        assert_eq!(ends.hits(), (false, false));
        for _ in 0..5 {
            assert_eq!(ends.hits(), (true, true));
        }
        let (client, server) = ends.metrics();
        assert_eq!((client.sent_cached, client.received_cached), (5, 5));
        assert_eq!((server.sent_cached, server.received_cached), (5, 5));
        assert_eq!((client.sent_whole, server.sent_whole), (1, 1));
        assert_eq!((client.missed_nothing_cached, server.missed_nothing_cached), (1, 1));
        assert_eq!((client.entries, server.entries), (1, 1));
        assert_eq!(server.missed_unknown_ticket, 0);
    }
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
fn a_first_contact_costs_four_bytes_at_each_end_and_a_miss_forty_at_most() {
    let mut ends = Ends::new(Mode::Mutual);
    let sent = |ends: &Ends| {
        let pair = ends.connect();
        (pair.client_sent.len(), pair.server_sent.len())
    };
    let codecs = std::mem::take(&mut ends.scene.client.certificate_codecs);
    let (client, server) = sent(&ends);
    ends.scene.client.certificate_codecs = codecs;
    assert_eq!(sent(&ends), (client + 4, server + 4));
    // The server has forgotten the client, and has another chain of the same length.
    ends.restart_server();
    ends.scene.server.credentials = vec![chain(&[b't'; 900], &[b'i'; 700])];
    // The extension with two tickets, compress_certificate with one id, and the answer.
    assert_eq!(sent(&ends), (client + 20 + 7, server + 4));
}

#[test]
fn a_first_contact_announces_that_the_client_takes_part() {
    let ends = Ends::new(Mode::Mutual);
    let typ = ExtensionType::CACHED_CERTIFICATES;
    assert_eq!(in_hello(&ends.connect(), typ), Some(Vec::new()));
    // One ticket, and random bytes like one.
    assert_eq!(in_hello(&ends.connect(), typ).map(|it| it.len()), Some(16));
}

#[test]
fn no_two_hellos_have_a_ticket_or_an_id_in_common() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let mut seen = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..8 {
        let pair = ends.connect();
        let tickets = in_hello(&pair, ExtensionType::CACHED_CERTIFICATES).expect("tickets");
        seen.extend(tickets.chunks(8).map(<[u8]>::to_vec));
        ids.push(in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE).expect("an id"));
    }
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((all, seen.len()), (16, 16));
    ids.sort();
    ids.dedup();
    // One of them may repeat by chance (in one run of 600).
    assert!(ids.len() >= 6, "{ids:?}");
}

#[test]
fn a_servers_chain_is_cached_where_clients_have_no_certificate() {
    let mut ends = Ends::new(Mode::Full);
    ends.scene.client.credentials.clear();
    ends.scene.server.client_authentication = ClientAuthentication::None;
    assert_eq!(ends.hits(), (false, false));
    assert_eq!(ends.hits(), (true, false));
    let pair = ends.connect();
    assert_eq!(in_hello(&pair, ExtensionType::CACHED_CERTIFICATES), Some(Vec::new()));
    assert_eq!(ends.server.metrics().entries, 0);
}

#[test]
fn both_client_hellos_offer_the_same_tickets_and_ids() {
    let mut ends = Ends::new(Mode::Retry);
    ends.connect();
    let pair = ends.connect();
    assert!(pair.client.facts().hello_retry);
    assert_eq!(hits_of(&pair), (true, true));
    // The next one knows the server's group.
    ends.scene.client.groups = vec![NamedGroup::X25519MLKEM768];
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn post_quantum_chains_of_15_kilobytes_become_44_bytes() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.scene.client.credentials = vec![chain(&[b'c'; 7500], &[b'j'; 7500])];
    ends.scene.server.credentials = vec![chain(&[b's'; 7500], &[b'i'; 7500])];
    let whole = ends.connect();
    let pair = ends.connect();
    assert_eq!(hits_of(&pair), (true, true));
    assert!(pair.server_sent.len() + 14_900 < whole.server_sent.len());
    assert!(pair.client_sent.len() + 14_900 < whole.client_sent.len());
}

/// Makes a key as in a certificate: a codec distinguishes them by their form.
fn raw_key(name: u8) -> Credential {
    let mut key = vec![0x30, 0x59, 0x30, 0x13, 0x06, 0x07];
    key.resize(91, name);
    Credential::raw_public_key(key, PrivateKey::Signs(Arc::new(NullSigner)))
}

#[test]
fn raw_public_keys_are_cached_too() {
    let mut ends = Ends::new(Mode::Mutual);
    let types = &[CertificateType::RAW_PUBLIC_KEY];
    ends.scene.client.credentials = vec![raw_key(1)];
    ends.scene.server.credentials = vec![raw_key(2)];
    ends.scene.client.verifier = Arc::new(NamingVerifier { types, ..NamingVerifier::new("keys") });
    ends.judge_clients_by(NamingVerifier { types, ..NamingVerifier::new("keys") });
    assert_eq!(ends.hits(), (false, false));
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn staples_are_sent_live_with_a_cached_chain() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.scene.client.verifier = Arc::new(crate::stapling::StapleVerifier);
    ends.connect();
    for response in [None, Some(vec![1; 50]), Some(vec![2; 60])] {
        ends.scene.server.credentials[0].ocsp_response = response.clone();
        let pair = ends.connect();
        assert_eq!(hits_of(&pair), (true, true));
        let peer = &pair.client.facts().peer;
        let blob = peer.as_ref().map(|peer| peer.blob.clone());
        assert_eq!(blob, Some(response.unwrap_or_default()));
    }
}

#[test]
fn a_resumption_leaves_chains_alone_and_gives_the_next_tickets() {
    let ends = Ends::new(Mode::Mutual);
    let mut session = ends.connect().to_client.sessions.pop();
    for _ in 0..3 {
        let pair = ends.resume(session);
        assert!(pair.client.facts().psk.is_some());
        assert_eq!(hits_of(&pair), (false, false));
        session = ends.resume(pair_session(pair)).to_client.sessions.pop();
    }
    assert_eq!(ends.hits(), (true, true));
    let (client, server) = ends.metrics();
    assert_eq!((client.entries, server.entries), (1, 1));
    assert_eq!(server.missed_unknown_ticket, 0);
}

fn pair_session(mut pair: tessera_harness::Pair) -> Option<tessera::resume::ClientSession> {
    pair.to_client.sessions.pop()
}

/// Owners that save caches can detect it, since the tickets change. A chain that wasn't sent isn't missed.
#[test]
fn a_resumption_changes_what_is_known_and_misses_nothing() {
    let mut ends = Ends::new(Mode::Mutual);
    let mut session = ends.connect().to_client.sessions.pop();
    let learned = |ends: &Ends| [ends.client.metrics().learned, ends.server.metrics().learned];
    assert_eq!(learned(&ends), [1, 1]);
    session = ends.resume(session).to_client.sessions.pop();
    assert_eq!(learned(&ends), [2, 2]);
    // Its tickets are unknown now.
    ends.restart_server();
    assert!(ends.resume(session).client.facts().psk.is_some());
    assert_eq!(ends.server.metrics(), Metrics::default());
}

#[test]
fn after_rejected_forward_secret_early_data_the_full_handshake_is_cached() {
    let mut ends = Ends::new(Mode::FsDhe);
    let session = ends.connect().to_client.sessions.pop();
    // The server can no longer open its own tickets.
    ends.scene.server.tickets = None;
    ends.scene.server.policy.early_data.forward_secret = None;
    let mut pair = ends.scene.start(session, tessera_harness::at(0));
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete, "{:?}", pair.to_server.error);
    assert_eq!(pair.to_client.early_data_accepted, Some(false));
    assert_eq!(hits_of(&pair), (true, true));
}

#[test]
fn each_destination_has_its_own_chains() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let offers = |destination: tessera::Destination| {
        let pair = ends.scene.start_to(destination, tessera_harness::at(0));
        in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE).is_some()
    };
    assert!(offers(to(None)));
    assert!(!offers(tessera::Destination { port: Some(443), ..to(None) }));
    assert!(!offers(tessera::Destination { server_name: "other.example".into(), ..to(None) }));
    let mut other = ends.scene.clone();
    other.client.protocols = vec![b"h2".to_vec()];
    let pair = other.start(None, tessera_harness::at(0));
    assert_eq!(in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE), None);
}
