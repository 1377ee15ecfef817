//! The carrier paper: hits, misses and what else may happen between two ends.

use std::sync::Arc;

use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera_cache::Carrier;
use tessera_harness::{Mode, Pair, rewrite};

use crate::stapling::StapleVerifier;
use crate::{ABBREVIATED, CACHED_INFO, Ends, TICKETS, alert, chain, edit_hello, hits_of, in_hello};

impl Ends {
    /// Makes ends of this carrier that know each other.
    pub(crate) fn known_on_paper() -> Self {
        let ends = Self::on_paper(Mode::Mutual);
        ends.connect();
        ends
    }
}

/// Returns the lengths of the messages of a flight, by type.
fn messages(pair: &mut Pair, ends: &Ends) -> Vec<(HandshakeType, usize)> {
    pair.client_to_server();
    let mut messages = Vec::new();
    let flight = pair.intercept_server();
    rewrite(
        &flight,
        || ends.scene.server_sealers(),
        |message| messages.push((HandshakeType(message[0]), message.len())),
    );
    pair.deliver_to_client(&flight);
    pair.run();
    messages
}

#[test]
fn on_paper_the_servers_request_travels_as_a_hash() {
    let ends = Ends::on_paper(Mode::Mutual);
    let mut lens = Vec::new();
    for _ in 0..3 {
        let mut pair = ends.start();
        let messages = messages(&mut pair, &ends);
        assert!(pair.to_server.complete);
        let len = |typ| messages.iter().find(|(it, _)| *it == typ).map(|(_, len)| *len);
        let request = len(HandshakeType::CERTIFICATE_REQUEST).expect("a request");
        lens.push((request, len(HandshakeType::ENCRYPTED_EXTENSIONS).expect("extensions")));
    }
    let [(whole, first), again @ ..] = &lens[..] else { panic!("{lens:?}") };
    let short = ABBREVIATED as usize;
    // cached_info with two types, and a ticket's index.
    assert!(*whole != short && again.iter().all(|it| *it == (short, first + 8 + 5)), "{lens:?}");
}

#[test]
fn a_server_that_asks_for_something_else_sends_its_request_whole() {
    let mut ends = Ends::known_on_paper();
    ends.judge_clients_by(StapleVerifier);
    let mut pair = ends.start();
    let messages = messages(&mut pair, &ends);
    assert!(pair.to_server.complete);
    let short = ABBREVIATED as usize;
    assert!(messages.contains(&(HandshakeType::CERTIFICATE, short)), "{messages:?}");
    assert!(!messages.contains(&(HandshakeType::CERTIFICATE_REQUEST, short)), "{messages:?}");
    assert_eq!(ends.hits(), (true, true));
    // Nothing at all.
    ends.scene.server.client_authentication = ClientAuthentication::None;
    let pair = ends.connect();
    assert_eq!(hits_of(&pair), (true, false));
    assert_eq!(pair.server.facts().peer_certificate, None);
}

#[test]
fn on_paper_staples_travel_with_the_hash() {
    let mut ends = Ends::on_paper(Mode::Mutual);
    ends.scene.client.verifier = Arc::new(StapleVerifier);
    for staple in [&b"monday"[..], b"tuesday", b"tuesday"] {
        ends.scene.server.credentials[0].ocsp_response = Some(staple.to_vec());
        let pair = ends.connect();
        let identity = pair.client.facts().peer.clone().map(|it| it.blob);
        assert_eq!(identity.as_deref(), Some(staple));
        // Two entries, and an extension with a status.
        let len = ABBREVIATED + 2 * 2 + 4 + 4 + staple.len() as u32;
        let came = pair.client.facts().peer_certificate.map(|it| it.len);
        assert_eq!(came == Some(len), staple != b"monday", "{came:?}");
    }
}

#[test]
fn a_first_contact_on_paper_costs_four_bytes() {
    let ends = Ends::on_paper(Mode::Mutual);
    let first = ends.start();
    assert_eq!(in_hello(&first, TICKETS), Some(Vec::new()));
    assert_eq!(in_hello(&first, CACHED_INFO), None);
    ends.connect();
    let again = ends.start();
    assert_eq!(in_hello(&again, TICKETS).map(|it| it.len()), Some(12));
    assert_eq!(in_hello(&again, CACHED_INFO).map(|it| it.len()), Some(70));
    assert_eq!(in_hello(&again, ExtensionType::CACHED_CERTIFICATES), None);
    assert_eq!(in_hello(&again, ExtensionType::COMPRESS_CERTIFICATE), None);
}

/// In RFC 7924 a selection is final.
#[test]
fn on_paper_a_client_that_sends_another_chain_than_its_ticket_fails_once() {
    let mut ends = Ends::known_on_paper();
    // It still has the chain of its ticket, but prefers another.
    let (old, new) = (ends.scene.client.credentials.remove(0), chain(&[b'd'; 800], &[b'j'; 600]));
    ends.scene.client.credentials = vec![new, old];
    let mut pair = ends.start();
    pair.run();
    assert_eq!(alert(&pair.to_server.error), Some(AlertDescription::DECRYPT_ERROR));
    drop(pair);
    let pair = ends.start();
    assert_eq!(in_hello(&pair, TICKETS), Some(Vec::new()));
    drop(pair);
    assert_eq!(ends.hits(), (false, false));
    assert_eq!(ends.hits(), (true, true));
}

/// A handshake yields one ticket, and no spare, as in the paper.
#[test]
fn on_paper_a_lost_last_flight_costs_one_whole_chain() {
    let ends = Ends::known_on_paper();
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    drop(pair);
    assert_eq!(ends.hits(), (true, false));
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn on_paper_connections_side_by_side_have_a_ticket_each() {
    let ends = Ends::on_paper(Mode::Mutual);
    let mut both = [ends.start(), ends.start()];
    for pair in &mut both {
        pair.run();
    }
    // The two tickets of different handshakes are sent together, and either is found.
    let pair = ends.connect();
    assert_eq!(in_hello(&pair, TICKETS).map(|it| it.len()), Some(22));
    assert_eq!(hits_of(&pair), (true, true));
    assert_eq!(ends.hits(), (true, true));
}

#[test]
fn on_paper_a_resumption_has_nothing_abbreviated_and_gives_a_ticket() {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.resumes()) {
        let ends = Ends::on_paper(mode);
        let mut session = ends.connect().to_client.sessions.pop();
        for _ in 0..2 {
            let pair = ends.resume(session.take());
            assert!(pair.server.facts().psk.is_some(), "{mode:?}");
            assert_eq!(in_hello(&pair, CACHED_INFO).map(|it| it.len()), Some(70));
            session = pair.to_client.sessions.into_iter().next_back();
        }
        assert_eq!(ends.server.metrics().missed_unknown_ticket, 0);
        assert_eq!(ends.hits(), (true, true), "{mode:?}");
    }
}

#[test]
fn carriers_that_only_one_end_has_leave_certificates_whole() {
    let mut ends = Ends::on_paper(Mode::Mutual);
    ends.server_uses(Carrier::default());
    for _ in 0..2 {
        assert_eq!((ends.hits(), ends.hits()), ((false, false), (false, false)));
    }
    // A server that knows both carriers follows the client.
    ends.client_uses(Carrier::default());
    ends.server_uses(Carrier::PAPER);
    ends.connect();
    assert_eq!(ends.hits(), (true, true));
}

/// A ticket of one carrier is unknown in the other: it has no id there.
#[test]
fn a_ticket_on_paper_finds_nothing_in_the_other_carrier() {
    let ends = Ends::known_on_paper();
    let ticket = in_hello(&ends.start(), TICKETS).expect("a ticket")[4..].to_vec();
    let mut other = ends.another_client(&[b'z'; 800]);
    other.client_uses(Carrier::default());
    let mut pair = other.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        hello.set(ExtensionType::CACHED_CERTIFICATES, &[&ticket[..], &[7; 8]].concat());
    });
    pair.deliver_to_server(&flight);
    assert_eq!(pair.to_server.error, None);
}

/// A client that only knows RFC 7924.
#[test]
fn a_client_without_tickets_is_served_by_rfc_7924() {
    let ends = Ends::known_on_paper();
    let mut pair = ends.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        hello.remove(TICKETS);
    });
    pair.deliver_to_server(&flight);
    let flight = pair.intercept_server();
    let mut lens = Vec::new();
    let note = |message: &mut Vec<u8>| lens.push((message[0], message.len() as u32));
    rewrite(&flight, || ends.scene.server_sealers(), note);
    for typ in [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST] {
        assert!(lens.contains(&(typ.0, ABBREVIATED)), "{lens:?}");
    }
}

#[test]
fn entries_exported_on_paper_are_used_only_on_paper() {
    let mut ends = Ends::known_on_paper();
    let exported = ends.client.export();
    ends.client_uses(Carrier::PAPER);
    assert_eq!(ends.client.import(&exported), Ok(()));
    let pair = ends.start();
    assert_eq!(in_hello(&pair, TICKETS).map(|it| it.len()), Some(12));
    assert_eq!(in_hello(&pair, CACHED_INFO).map(|it| it.len()), Some(70));
    ends.client_uses(Carrier::default());
    assert_eq!(ends.client.import(&exported), Ok(()));
    let typ = ExtensionType::CACHED_CERTIFICATES;
    assert_eq!(in_hello(&ends.start(), typ), Some(Vec::new()));
    ends.connect();
    // And the reverse.
    let exported = ends.client.export();
    ends.client_uses(Carrier::PAPER);
    assert_eq!(ends.client.import(&exported), Ok(()));
    assert_eq!(in_hello(&ends.start(), TICKETS), Some(Vec::new()));
    assert_eq!(ends.hits(), (true, false));
    assert_eq!(ends.hits(), (true, true));
}
