//! The carrier paper: hits, misses and what else may happen between two ends.

use std::sync::Arc;

use tessera::Time;
use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera_cache::{Carrier, ClientCache, ServerCache};
use tessera_harness::{Mode, Pair, at, rewrite};

use crate::stapling::Wanting;
use crate::{Ends, Naming, alert, chain, edit_hello, in_hello};

pub(crate) const CACHED_INFO: ExtensionType = ExtensionType(25);
pub(crate) const TICKETS: ExtensionType = ExtensionType(0xff5d);

/// Header, length and hash.
const ABBREVIATED: u32 = 4 + 1 + 32;

impl Ends {
    /// Ends whose caches use this carrier.
    pub(crate) fn on_paper(mode: Mode) -> Self {
        let mut ends = Self::new(mode);
        ends.client_uses(Carrier::PAPER);
        ends.server_uses(Carrier::PAPER);
        ends
    }

    /// Those that know each other.
    pub(crate) fn known_on_paper() -> Self {
        let ends = Self::on_paper(Mode::Mutual);
        ends.connect();
        ends
    }

    pub(crate) fn client_uses(&mut self, carrier: Carrier) {
        let cache = ClientCache::new(&self.scene.client.provider).expect("a cache");
        self.client = Arc::new(cache.with_carrier(carrier));
        self.scene.client.certificate_codecs = vec![self.client.clone()];
    }

    fn server_uses(&mut self, carrier: Carrier) {
        let cache = ServerCache::new(&self.scene.server.provider).expect("a cache");
        self.server = Arc::new(cache.with_carrier(carrier));
        self.scene.server.certificate_codecs = vec![self.server.clone()];
    }

    /// Connects, and says whether the server's and the client's chain came abbreviated.
    pub(crate) fn abbreviated(&self) -> (bool, bool) {
        abbreviated(&self.connect())
    }
}

fn abbreviated(pair: &Pair) -> (bool, bool) {
    let [server, client] = [pair.client.facts(), pair.server.facts()].map(|facts| {
        let transfer = facts.peer_certificate;
        transfer.is_some_and(|it| it.encoded_with.is_none() && it.len == ABBREVIATED)
    });
    (server, client)
}

/// The lengths of the messages of a flight, by their types.
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
fn on_paper_known_chains_travel_as_hashes_both_ways() {
    for mode in [Mode::Mutual, Mode::Retry] {
        let ends = Ends::on_paper(mode);
        assert_eq!(ends.abbreviated(), (false, false));
        for _ in 0..5 {
            assert_eq!(ends.abbreviated(), (true, true), "{mode:?}");
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
    // cached_info with two types, and a ticket's place.
    assert!(*whole != short && again.iter().all(|it| *it == (short, first + 8 + 5)), "{lens:?}");
}

#[test]
fn a_server_that_asks_for_something_else_sends_its_request_whole() {
    let mut ends = Ends::known_on_paper();
    ends.scene.server.client_authentication = ClientAuthentication::Required(Arc::new(Wanting));
    let mut pair = ends.start();
    let messages = messages(&mut pair, &ends);
    assert!(pair.to_server.complete);
    let short = ABBREVIATED as usize;
    assert!(messages.contains(&(HandshakeType::CERTIFICATE, short)), "{messages:?}");
    assert!(!messages.contains(&(HandshakeType::CERTIFICATE_REQUEST, short)), "{messages:?}");
    assert_eq!(ends.abbreviated(), (true, true));
    // Nothing at all.
    ends.scene.server.client_authentication = ClientAuthentication::None;
    let pair = ends.connect();
    assert_eq!(abbreviated(&pair), (true, false));
    assert_eq!(pair.server.facts().peer_certificate, None);
}

#[test]
fn on_paper_staples_travel_beside_the_hash() {
    let mut ends = Ends::on_paper(Mode::Mutual);
    ends.scene.client.verifier = Arc::new(Wanting);
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

#[test]
fn on_paper_a_new_chain_comes_whole_and_is_cached_then() {
    let mut ends = Ends::known_on_paper();
    ends.scene.server.credentials = vec![chain(&[b't'; 900], &[b'i'; 700])];
    assert_eq!(ends.abbreviated(), (false, true));
    assert_eq!(ends.abbreviated(), (true, true));
    ends.scene.client.credentials = vec![chain(&[b'd'; 800], &[b'j'; 600])];
    assert_eq!(ends.abbreviated(), (true, false));
    assert_eq!(ends.abbreviated(), (true, true));
}

/// RFC 7924 has no way back from a selection.
#[test]
fn on_paper_a_client_that_sends_another_chain_than_its_ticket_fails_once() {
    let mut ends = Ends::known_on_paper();
    // It has the chain of its ticket still, and prefers another.
    let (old, new) = (ends.scene.client.credentials.remove(0), chain(&[b'd'; 800], &[b'j'; 600]));
    ends.scene.client.credentials = vec![new, old];
    let mut pair = ends.start();
    pair.run();
    assert_eq!(alert(&pair.to_server.error), Some(AlertDescription::DECRYPT_ERROR));
    drop(pair);
    let pair = ends.start();
    assert_eq!(in_hello(&pair, TICKETS), Some(Vec::new()));
    drop(pair);
    assert_eq!(ends.abbreviated(), (false, false));
    assert_eq!(ends.abbreviated(), (true, true));
}

#[test]
fn on_paper_a_server_that_lost_its_cache_gets_a_whole_chain_once() {
    let mut ends = Ends::known_on_paper();
    ends.server_uses(Carrier::PAPER);
    assert_eq!(ends.abbreviated(), (true, false));
    assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
    assert_eq!(ends.abbreviated(), (true, true));
}

/// A handshake gives one ticket, and no spare: as in the paper.
#[test]
fn on_paper_a_lost_last_flight_costs_one_whole_chain() {
    let ends = Ends::known_on_paper();
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    drop(pair);
    assert_eq!(ends.abbreviated(), (true, false));
    assert_eq!(ends.abbreviated(), (true, true));
}

#[test]
fn on_paper_no_ticket_is_sent_twice() {
    let ends = Ends::known_on_paper();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let pair = ends.connect();
        let tickets = in_hello(&pair, TICKETS).expect("tickets");
        assert!(!seen.contains(&tickets));
        seen.push(tickets);
    }
    let mut pair = ends.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        hello.set(TICKETS, &seen[0]);
    });
    pair.deliver_to_server(&flight);
    assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
}

#[test]
fn on_paper_connections_side_by_side_have_a_ticket_each() {
    let ends = Ends::on_paper(Mode::Mutual);
    let mut both = [ends.start(), ends.start()];
    for pair in &mut both {
        pair.run();
    }
    // The two tickets of different handshakes go together, and either is found.
    let pair = ends.connect();
    assert_eq!(in_hello(&pair, TICKETS).map(|it| it.len()), Some(22));
    assert_eq!(abbreviated(&pair), (true, true));
    assert_eq!(ends.abbreviated(), (true, true));
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
        assert_eq!(ends.abbreviated(), (true, true), "{mode:?}");
    }
}

/// A resumption in which somebody shows a ticket of another's gives nobody tickets.
#[test]
fn on_paper_a_ticket_of_another_client_gives_none_in_a_resumption() {
    let ends = Ends::known_on_paper();
    let thief = ends.another_client(&[b'z'; 800]);
    let session = thief.connect().to_client.sessions.pop();
    // The thief's own cache is the owner's now: so it sends the owner's ticket beside its own session.
    let mut stolen = thief.scene.clone();
    stolen.client.certificate_codecs = vec![ends.client.clone()];
    stolen.client.credentials.push(ends.scene.client.credentials[0].clone());
    let mut pair = stolen.start(session, at(0));
    assert_eq!(in_hello(&pair, TICKETS).map(|it| it.len()), Some(12));
    pair.run();
    assert!(pair.to_server.complete && pair.server.facts().psk.is_some());
    // What the client derived finds nothing.
    assert_eq!(ends.abbreviated(), (true, false));
    assert_eq!(ends.server.metrics().missed_unknown_ticket, 1);
    assert_eq!(ends.abbreviated(), (true, true));
}

#[test]
fn on_paper_nothing_cached_is_offered_without_a_clock() {
    let ends = Ends::known_on_paper();
    let unset = Time { unix: None, ..at(0) };
    let pair = ends.scene.start(None, unset);
    assert_eq!(in_hello(&pair, TICKETS), Some(Vec::new()));
    assert_eq!(in_hello(&pair, CACHED_INFO), None);
    // The server's alone.
    let mut pair = ends.start();
    let flight = pair.intercept_client();
    pair.now = unset;
    pair.deliver_to_server(&flight);
    pair.now = at(0);
    pair.run();
    assert!(pair.to_server.complete);
    assert_eq!(abbreviated(&pair), (true, false));
}

#[test]
fn on_paper_under_another_policy_nobody_is_known() {
    let mut ends = Ends::known_on_paper();
    let clients = Arc::new(Naming::new("clients of a stricter server"));
    ends.scene.server.client_authentication = ClientAuthentication::Required(clients);
    ends.scene.client.verifier = Arc::new(Naming::new("other servers"));
    assert_eq!(ends.abbreviated(), (false, false));
    assert_eq!(ends.abbreviated(), (true, true));
}

#[test]
fn carriers_that_only_one_end_has_leave_certificates_whole() {
    let mut ends = Ends::on_paper(Mode::Mutual);
    ends.server_uses(Carrier::default());
    for _ in 0..2 {
        assert_eq!((ends.abbreviated(), ends.hits()), ((false, false), (false, false)));
    }
    // A server that knows both goes by what the client sends.
    ends.client_uses(Carrier::default());
    ends.server_uses(Carrier::PAPER);
    ends.connect();
    assert_eq!(ends.hits(), (true, true));
}

/// A ticket of one carrier is nobody's in the other: it has no id there.
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

/// A client that knows RFC 7924 alone.
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
fn both_carriers_are_bounded_and_emptied_alike() {
    let ends = Ends::known_on_paper();
    for _ in 0..20 {
        ends.connect();
    }
    assert_eq!(ends.server.metrics().entries, 1);
    ends.client.retain_policies(&[]);
    ends.server.retain_policies(&[]);
    let (client, server) = ends.metrics();
    assert_eq!((client.entries, client.bytes, server.entries, server.bytes), (0, 0, 0, 0));
    assert_eq!(ends.abbreviated(), (false, false));
}

#[test]
fn what_is_exported_on_paper_is_used_on_paper_alone() {
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
    // And the other way.
    let exported = ends.client.export();
    ends.client_uses(Carrier::PAPER);
    assert_eq!(ends.client.import(&exported), Ok(()));
    assert_eq!(in_hello(&ends.start(), TICKETS), Some(Vec::new()));
    assert_eq!(ends.abbreviated(), (true, false));
    assert_eq!(ends.abbreviated(), (true, true));
}
