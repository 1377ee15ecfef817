//! Chains sent in full: the reasons, and that nothing breaks.

use std::sync::Arc;

use tessera::Time;
use tessera::auth::{VerifierDigest, VerifierPolicy};
use tessera::wire::{CertificateType, ExtensionType};
use tessera_cache::{Carrier, PublicIds};
use tessera_harness::{Mode, at};

use crate::{Ends, NamingVerifier, chain, edit_hello, hits_of, in_hello};

#[test]
fn a_new_chain_comes_whole_and_is_cached_then() {
    for mut ends in Ends::of_both_known() {
        ends.scene.server.credentials = vec![chain(&[b't'; 900], &[b'i'; 700])];
        assert_eq!(ends.hits(), (false, true));
        assert_eq!(ends.hits(), (true, true));
        ends.scene.client.credentials = vec![chain(&[b'd'; 800], &[b'j'; 600])];
        assert_eq!(ends.hits(), (true, false));
        assert_eq!(ends.hits(), (true, true));
        let (client, server) = ends.metrics();
        assert_eq!((client.missed_another_chain, server.entries), (1, 2));
        // On paper, a ticket is presented only with its chain available.
        let offered = u64::from(ends.carrier == Carrier::default());
        assert_eq!(server.missed_another_chain, offered);
    }
}

/// The same leaf, and so the same key, under other issuers; the client connects to each of them again.
#[test]
fn a_client_keeps_the_chains_of_several_servers_behind_one_name() {
    let mut ends = Ends::new(Mode::Mutual);
    let chains = [b'i', b'k', b'l', b'm'].map(|name| chain(&[b's'; 900], &[name; 700]));
    for credential in &chains {
        ends.scene.server.credentials = vec![credential.clone()];
        assert!(!ends.hits().0);
    }
    for credential in &chains {
        ends.scene.server.credentials = vec![credential.clone()];
        assert!(ends.hits().0);
    }
    // A fifth chain evicts the one seen first.
    ends.scene.server.credentials = vec![chain(&[b's'; 900], &[b'n'; 700])];
    assert!(!ends.hits().0);
    ends.scene.server.credentials = vec![chains[0].clone()];
    assert!(!ends.hits().0);
}

#[test]
fn a_server_that_restarted_without_its_cache_gets_a_whole_chain_once() {
    for mut ends in Ends::of_both_known() {
        ends.connect();
        ends.restart_server();
        assert_eq!(ends.hits(), (true, false));
        assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
        assert_eq!(ends.hits(), (true, true));
    }
}

/// The client's last flight is lost: it has tickets that the server doesn't know.
#[test]
fn a_lost_last_flight_costs_no_whole_chain() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    for _ in 0..3 {
        let mut pair = ends.start();
        pair.client_to_server();
        pair.server_to_client();
        assert!(pair.to_client.complete && !pair.to_server.complete);
        drop(pair);
        assert_eq!(ends.hits(), (true, true));
    }
    assert_eq!(ends.server.metrics().missed_unknown_ticket, 0);
}

/// Two lost flights in a row, without a connection between them.
#[test]
fn two_lost_last_flights_heal_in_one_handshake() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    ends.connect();
    for _ in 0..2 {
        let mut pair = ends.start();
        pair.client_to_server();
        pair.server_to_client();
    }
    ends.connect();
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn no_ticket_is_sent_twice_and_a_replayed_one_finds_nothing() {
    for ends in Ends::of_both_known() {
        let mut seen = Vec::new();
        for _ in 0..4 {
            let tickets = in_hello(&ends.connect(), ends.tickets()).expect("tickets");
            assert!(!seen.contains(&tickets));
            seen.push(tickets);
        }
        let mut pair = ends.start();
        let flight = edit_hello(&pair.intercept_client(), |hello| {
            hello.set(ends.tickets(), &seen[0]);
        });
        pair.deliver_to_server(&flight);
        assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
    }
}

/// An attacker that copies a ticket and uses it first is offered an id, and takes nothing from its owner but
/// the ticket.
#[test]
fn a_copied_ticket_costs_its_owner_a_whole_chain_at_most() {
    let ends = Ends::new(Mode::Mutual);
    let thief = ends.another_client(&[b'z'; 800]);
    ends.connect();
    ends.connect();
    let mut owner = ends.start();
    let first_flight = owner.intercept_client();
    let copied = in_hello(
        &{
            let mut pair = ends.start();
            pair.client_sent = first_flight.clone();
            pair.intercept_client();
            pair
        },
        ExtensionType::CACHED_CERTIFICATES,
    )
    .expect("tickets");
    let mut pair = thief.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        hello.set(ExtensionType::CACHED_CERTIFICATES, &copied);
    });
    pair.deliver_to_server(&flight);
    assert_eq!(pair.to_server.error, None);
    owner.deliver_to_server(&first_flight);
    owner.run();
    assert!(owner.to_server.complete);
    assert_eq!(hits_of(&owner), (true, false));
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn a_ticket_is_found_only_under_the_name_of_its_server() {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    let mut pair = ends.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        let name = b"other1.example";
        let entry = [&[0, 0, name.len() as u8][..], name].concat();
        let list = [&[0, entry.len() as u8][..], &entry].concat();
        hello.set(ExtensionType::SERVER_NAME, &list);
    });
    pair.deliver_to_server(&flight);
    assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
}

#[test]
fn nothing_cached_is_offered_without_a_clock() {
    for ends in Ends::of_both_known() {
        let unset = Time { unix: None, ..at(0) };
        let pair = ends.scene.start(None, unset);
        assert_eq!(in_hello(&pair, ends.tickets()), Some(Vec::new()));
        assert_eq!(in_hello(&pair, ends.chains()), None);
        // Only the server's.
        let mut pair = ends.start();
        let flight = pair.intercept_client();
        pair.now = unset;
        pair.deliver_to_server(&flight);
        pair.now = at(0);
        pair.run();
        assert!(pair.to_server.complete);
        assert_eq!(hits_of(&pair), (true, false));
    }
}

#[test]
fn under_another_policy_no_peer_is_known() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(NamingVerifier::new("clients of a stricter server"));
        ends.scene.client.verifier = Arc::new(NamingVerifier::new("other servers"));
        assert_eq!(ends.hits(), (false, false));
        assert_eq!(ends.hits(), (true, true));
    }
}

#[test]
fn a_servers_ticket_of_another_policy_is_a_miss() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(NamingVerifier::new("clients of a stricter server"));
        assert_eq!(ends.hits(), (true, false));
        assert_eq!(ends.server.metrics().missed_policy, 1);
    }
}

#[test]
fn a_policy_that_is_gone_takes_its_entries_with_it() {
    for ends in Ends::of_both_known() {
        let provider = &ends.scene.client.provider;
        let kept = ["servers", "clients"]
            .map(|kind| VerifierDigest::of(&VerifierPolicy::new(kind), provider));
        ends.client.retain_policies(&kept);
        ends.server.retain_policies(&kept);
        assert_eq!((ends.client.metrics().entries, ends.server.metrics().entries), (1, 1));
        // Those of the other end alone.
        ends.client.retain_policies(&kept[1..]);
        ends.server.retain_policies(&kept[..1]);
        assert_eq!((ends.client.metrics().entries, ends.server.metrics().entries), (0, 0));
        ends.client.retain_policies(&[]);
        ends.server.retain_policies(&[]);
        let (client, server) = ends.metrics();
        assert_eq!((client.entries, client.bytes, server.entries, server.bytes), (0, 0, 0, 0));
        assert_eq!(ends.hits(), (false, false));
    }
}

#[test]
fn caches_that_are_cleared_know_no_peer() {
    for ends in Ends::of_both_known() {
        ends.client.clear();
        ends.server.clear();
        let (client, server) = ends.metrics();
        assert_eq!((client.entries, server.entries), (0, 0));
        assert_eq!(ends.hits(), (false, false));
    }
}

/// A resumption with a ticket of another client yields no tickets for either.
#[test]
fn a_ticket_of_another_client_gives_no_tickets_in_a_resumption() {
    for ends in Ends::of_both_known() {
        let thief = ends.another_client(&[b'z'; 800]);
        let session = thief.connect().to_client.sessions.pop();
        let before = ends.server.metrics().bytes;
        // The attacker uses the owner's cache from here on, so it sends the owner's tickets with its own
        // session.
        let mut stolen = thief.scene.clone();
        stolen.client.certificate_codecs = vec![ends.client.clone()];
        stolen.client.credentials.push(ends.scene.client.credentials[0].clone());
        let mut pair = stolen.start(session, at(0));
        let shown = in_hello(&pair, ends.tickets()).expect("tickets");
        assert!(!shown.is_empty());
        pair.run();
        assert!(pair.to_server.complete && pair.server.facts().psk.is_some());
        assert_eq!(ends.server.metrics().bytes, before);
        // The client's derived ticket is unknown; its spare is found, if there is one.
        let has_spare = ends.carrier == Carrier::default();
        assert_eq!(ends.hits(), (true, has_spare));
        assert_eq!(ends.server.metrics().missed_unknown_ticket, u64::from(!has_spare));
        assert_eq!(ends.hits(), (true, true));
    }
}

#[test]
fn a_ticket_is_not_used_where_another_type_of_certificate_may_be_agreed() {
    let mut ends = Ends::new(Mode::Mutual);
    let types = &[CertificateType::X509, CertificateType::RAW_PUBLIC_KEY];
    ends.judge_clients_by(NamingVerifier { types, ..NamingVerifier::new("clients") });
    ends.connect();
    let mut pair = ends.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        hello.set(ExtensionType::CLIENT_CERTIFICATE_TYPE, &[2, 2, 0]);
    });
    pair.deliver_to_server(&flight);
    assert_eq!(pair.to_server.error, None);
    assert_eq!(ends.server.metrics().missed_another_chain, 1);
}

#[test]
fn a_server_that_does_not_take_part_is_asked_for_whole_chains() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.connect();
    ends.scene.server.certificate_codecs.clear();
    assert_eq!(ends.hits(), (false, false));
    // It was seen not to take part, so it isn't offered salted ids either.
    let pair = ends.connect();
    assert_eq!(in_hello(&pair, ExtensionType::COMPRESS_CERTIFICATE), None);
    assert_eq!(in_hello(&pair, ExtensionType::CACHED_CERTIFICATES).map(|it| it.len()), Some(16));
}

#[test]
fn a_cache_of_the_other_role_does_nothing() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.scene.client.certificate_codecs = vec![ends.server.clone()];
    ends.scene.server.certificate_codecs = vec![ends.client.clone()];
    ends.connect();
    assert_eq!(ends.hits(), (false, false));
}

#[test]
fn public_ids_are_used_only_where_the_peer_does_not_take_part() {
    let mut ends = Ends::new(Mode::Mutual);
    let provider = &ends.scene.client.provider;
    let public = PublicIds::ObserversRecogniseChains;
    let cache = tessera_cache::ClientCache::new(provider).expect("a cache");
    ends.client = Arc::new(cache.with_public_ids(public));
    ends.scene.client.certificate_codecs = vec![ends.client.clone()];
    ends.connect();
    let salted = in_hello(&ends.start(), ExtensionType::COMPRESS_CERTIFICATE);
    ends.scene.server.certificate_codecs.clear();
    ends.connect();
    let ids = |_| in_hello(&ends.start(), ExtensionType::COMPRESS_CERTIFICATE).expect("an id");
    let [one, two] = [0, 1].map(ids);
    assert_eq!(one, two);
    assert_ne!(Some(one), salted);
}
