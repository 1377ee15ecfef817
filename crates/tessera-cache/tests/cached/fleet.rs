//! Fleet tickets: servers of a fleet share a ring of ticket keys, but no cache.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tessera::resume::{ClientSession, TicketKeys};
use tessera::wire::{AlertDescription, ExtensionType};
use tessera_cache::ServerCache;
use tessera_harness::{Hello, Mode, Pair, at, records};
use tessera_vault::{TicketKey, TicketKeyRing};

use crate::{Ends, NamingVerifier, alert, hits_of, in_hello};

pub(crate) const CACHED: ExtensionType = ExtensionType::CACHED_CERTIFICATES;

/// Length of a fleet ticket of these rings.
pub(crate) const LEN: usize = 140;

pub(crate) fn key() -> TicketKey {
    let now = at(0).unix.expect("a clock");
    let hour = Duration::from_secs(3600);
    TicketKey::generate(&tessera_aws_lc::provider(), now, hour, hour).expect("random numbers")
}

fn copy(key: &TicketKey) -> TicketKey {
    TicketKey::decode(&key.encode()).expect("a key")
}

pub(crate) fn ring() -> Arc<TicketKeyRing> {
    ring_of(&[&key()])
}

fn ring_of(keys: &[&TicketKey]) -> Arc<TicketKeyRing> {
    let ring = TicketKeyRing::new(&tessera_aws_lc::provider());
    let now = at(0).unix.expect("a clock");
    ring.install(keys.iter().map(|key| copy(key)).collect(), now).expect("keys");
    Arc::new(ring)
}

impl Ends {
    /// Makes a server that sends fleet tickets, four in a full handshake.
    pub(crate) fn of_fleet(mode: Mode, ring: Arc<dyn TicketKeys>) -> Self {
        let mut ends = Self::new(mode);
        ends.scene.server.policy.tickets.new_session_count = 4;
        ends.scene.client.policy.tickets.new_session_count = 4;
        ends.joins(ring);
        ends
    }

    /// Makes this another server, with an empty cache and this ring.
    fn joins(&mut self, ring: Arc<dyn TicketKeys>) {
        let cache = ServerCache::new(&self.scene.server.provider).expect("a cache");
        self.server = Arc::new(cache.with_fleet_tickets(ring));
        self.scene.server.certificate_codecs = vec![self.server.clone()];
    }

    /// Returns the same client, at another server of the fleet.
    pub(crate) fn member(&self, ring: Arc<dyn TicketKeys>) -> Self {
        let (scene, client, server) =
            (self.scene.clone(), self.client.clone(), self.server.clone());
        let mut member = Self { scene, client, server, carrier: self.carrier };
        member.joins(ring);
        member
    }

    /// Uses up the derived tickets of one handshake by lost flights; two of the four fleet tickets are
    /// left.
    pub(crate) fn only_fleet_tickets_are_left(&self) {
        (0..2).for_each(|_| drop(self.start()));
    }
}

/// Returns the fleet ticket in the pending ClientHello.
fn fleet_ticket_in(pair: &Pair) -> Option<Vec<u8>> {
    let body = in_hello(pair, CACHED).expect("takes part");
    let (_, rest) = body.split_at_checked(16)?;
    let (len, sealed) = rest.split_first()?;
    assert_eq!(usize::from(*len), sealed.len());
    Some(sealed.to_vec())
}

/// After one visit to each, in any order.
#[test]
fn every_server_of_a_fleet_that_saw_a_client_once_knows_it() {
    let ring = ring();
    let first = Ends::of_fleet(Mode::Mutual, ring.clone());
    let mut fleet = vec![first];
    (0..3).for_each(|_| fleet.push(fleet[0].member(ring.clone())));
    for member in &fleet {
        assert!(!member.hits().1);
    }
    for at in [0, 1, 2, 3, 1, 0, 3, 2, 2, 0, 1, 3, 0, 2, 1, 3] {
        assert_eq!(fleet[at].hits(), (true, true), "{at}");
    }
    let metrics: Vec<_> = fleet.iter().map(|member| member.server.metrics()).collect();
    let found: u64 = metrics.iter().map(|it| it.found_by_fleet_ticket).sum();
    assert!(found >= 12, "{found}");
    // The first of all has no ticket; the three others had one that was unknown there.
    let missed: u64 = metrics.iter().map(|it| it.missed_unknown_ticket).sum();
    assert_eq!((missed, metrics[0].missed_nothing_cached), (3, 1));
}

#[test]
fn a_fleet_without_fleet_tickets_sends_whole_chains() {
    let mut fleet = vec![Ends::new(Mode::Mutual)];
    for _ in 0..3 {
        let mut member = fleet[0].member(ring());
        member.restart_server();
        fleet.push(member);
    }
    fleet.iter().for_each(|member| drop(member.connect()));
    let hits = [3, 2, 1, 0, 3, 2, 1, 0].map(|at| fleet[at].hits().1);
    // The server that the client visited last has its tickets.
    assert_eq!(hits, [true, false, false, false, false, false, false, false]);
}

/// Only the fleet tickets are left, as after a restart that lost unsaved data.
#[test]
fn a_server_that_lost_its_tickets_and_kept_the_chains_finds_them() {
    let ring = ring();
    let mut ends = Ends::of_fleet(Mode::Mutual, ring.clone());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    assert_eq!(ends.hits(), (true, true));
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 1);
    // And from its file, which no longer has the client's tickets.
    let mut pair = ends.start();
    pair.client_to_server();
    drop(pair);
    let mut pair = ends.start();
    pair.client_to_server();
    drop(pair);
    let exported = ends.server.export();
    ends.joins(ring);
    ends.server.import(&exported).expect("what it exported");
    assert_eq!(ends.server.metrics().entries, 1);
    assert_eq!(ends.hits(), (true, true));
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 1);
}

/// Both hellos are the same in this.
#[test]
fn fleet_tickets_stay_as_they_are_after_a_hello_retry_request() {
    let mut ends = Ends::of_fleet(Mode::Retry, ring());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let pair = ends.connect();
    assert_eq!(hits_of(&pair), (true, true));
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 1);
    let hellos = records(&pair.client_sent);
    let hellos = hellos.iter().filter(|it| it[0] == 22 && it[5] == 1);
    let bodies: Vec<_> =
        hellos.map(|it| Hello::read(&it[5..]).extension(CACHED).cloned()).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0] == bodies[1] && bodies[0].as_ref().is_some_and(|it| it.len() == 157));
    ends.joins(ring());
    assert_eq!(ends.hits(), (true, false), "another ring");
}

#[test]
fn fleet_tickets_live_as_long_as_their_key() {
    let (old, new) = (key(), key());
    for (keys, hit) in [(vec![&old], true), (vec![&new, &old], true), (vec![&new], false)] {
        let ring = ring_of(&[&old]);
        let ends = Ends::of_fleet(Mode::Mutual, ring.clone());
        ends.connect();
        ends.only_fleet_tickets_are_left();
        let now = at(0).unix.expect("a clock");
        ring.install(keys.iter().map(|key| copy(key)).collect(), now).expect("keys");
        assert_eq!(ends.hits(), (true, hit), "{}", keys.len());
        let metrics = ends.server.metrics();
        let found = (metrics.found_by_fleet_ticket, metrics.missed_unknown_ticket);
        assert_eq!(found, (u64::from(hit), u64::from(!hit)));
    }
}

#[test]
fn no_fleet_ticket_is_sent_twice_and_all_have_one_length() {
    let ring = ring();
    let ends = Ends::of_fleet(Mode::Mutual, ring.clone());
    let other = ends.another_client(&[b'k'; 100]);
    let mut seen = BTreeSet::new();
    for ends in [&ends, &other] {
        ends.connect();
        for _ in 0..6 {
            let pair = ends.start();
            let Some(ticket) = fleet_ticket_in(&pair) else { continue };
            assert_eq!(ticket.len(), LEN);
            assert!(seen.insert(ticket), "twice");
        }
    }
    // Four of each handshake.
    assert_eq!(seen.len(), 8);
}

#[test]
fn a_client_gets_fleet_tickets_with_session_tickets_alone() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.scene.server.tickets = None;
    ends.connect();
    let pair = ends.start();
    assert_eq!(in_hello(&pair, CACHED).map(|body| body.len()), Some(16));
    // A client without a certificate gets none in any case.
    let mut ends = Ends::of_fleet(Mode::Full, ring());
    ends.scene.client.credentials.clear();
    ends.scene.server.client_authentication = tessera::handshake::ClientAuthentication::None;
    ends.connect();
    assert_eq!(in_hello(&ends.start(), CACHED).map(|body| body.len()), Some(0));
}

#[test]
fn a_client_of_the_carrier_paper_gets_no_fleet_ticket() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    let paper = tessera_cache::Carrier::PAPER;
    ends.client_uses(paper);
    let cache = ServerCache::new(&ends.scene.server.provider).expect("a cache");
    ends.server = Arc::new(cache.with_carrier(paper).with_fleet_tickets(ring()));
    ends.scene.server.certificate_codecs = vec![ends.server.clone()];
    ends.connect();
    let before = ends.client.metrics().bytes;
    assert_eq!(ends.hits(), (true, true));
    assert_eq!(ends.client.metrics().bytes, before);
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 0);
}

/// Also for a server that sends none, and one that has no cache.
#[test]
fn a_server_without_fleet_tickets_passes_over_those_of_others() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    ends.restart_server();
    assert!(fleet_ticket_in(&ends.start()).is_some());
    assert_eq!(ends.hits(), (true, false));
    assert_eq!(ends.hits(), (true, true));
    ends.scene.server.certificate_codecs.clear();
    assert_eq!(ends.hits(), (false, false));
}

/// They would be refused like the others.
#[test]
fn a_client_that_was_refused_forgets_its_fleet_tickets() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let refuses = Some(AlertDescription::CERTIFICATE_REVOKED);
    ends.judge_clients_by(NamingVerifier { refuses, ..NamingVerifier::new("clients") });
    let mut alerts = Vec::new();
    for _ in 0..3 {
        let mut pair = ends.start();
        let has_fleet_ticket = fleet_ticket_in(&pair).is_some();
        pair.run();
        alerts.push((has_fleet_ticket, alert(&pair.to_server.error)));
    }
    let decrypt_error = Some(AlertDescription::DECRYPT_ERROR);
    assert_eq!(alerts, [(true, decrypt_error), (false, refuses), (false, refuses)]);
}

fn resumed(ends: &Ends, session: Option<ClientSession>) -> Pair {
    let pair = ends.resume(session);
    assert!(pair.server.facts().psk.is_some());
    pair
}

/// Takes the client's remaining fleet tickets; returns their number.
fn fleet_tickets_left(ends: &Ends) -> usize {
    (0..10).filter(|_| fleet_ticket_in(&ends.start()).is_some()).count()
}

#[test]
fn a_resumption_gives_fleet_tickets_to_the_client_of_its_session_alone() {
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    let session = ends.connect().to_client.sessions.pop();
    ends.only_fleet_tickets_are_left();
    let pair = resumed(&ends, session);
    // One session ticket, and one fleet ticket.
    assert_eq!(pair.to_client.sessions.len(), 1);
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 1);
    assert_eq!(fleet_tickets_left(&ends), 2);

    // An attacker presents the owner's tickets with its own session.
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let thief = ends.another_client(&[b'z'; 800]);
    let session = thief.connect().to_client.sessions.pop();
    let mut stolen = ends.another_client(&[b'z'; 800]);
    stolen.client = ends.client.clone();
    stolen.scene.client.certificate_codecs = vec![ends.client.clone()];
    stolen.scene.client.credentials.push(ends.scene.client.credentials[0].clone());
    let before = ends.server.metrics();
    resumed(&stolen, session);
    let after = ends.server.metrics();
    assert_eq!(
        (after.found_by_fleet_ticket, after.bytes),
        (before.found_by_fleet_ticket + 1, before.bytes)
    );
    // The one that was not presented.
    assert_eq!(fleet_tickets_left(&ends), 1);
}

#[test]
fn a_client_keeps_fleet_tickets_in_its_file() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    let (with, without) = (ends.client.export(), ends.client.export_without_tickets());
    ends.client_uses(ends.carrier);
    ends.client.import(&without).expect("what it exported");
    assert_eq!(fleet_tickets_left(&ends), 0);
    ends.client.import(&with).expect("what it exported");
    ends.only_fleet_tickets_are_left();
    assert_eq!(ends.hits(), (true, true));
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 1);
    // Bounded, however many a server sends.
    assert_eq!(fleet_tickets_left(&ends), 4);
}

/// It had none.
#[test]
fn a_clients_file_of_the_version_before_fleet_tickets_is_read() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.connect();
    let exported = ends.client.export();
    // Without the number of fleet tickets, which is last.
    let mut earlier = exported[..exported.len() - 33].to_vec();
    earlier[15] = 1;
    let sha256 = ends.scene.server.provider.sha256().expect("SHA-256");
    let checksum = sha256.hash(&earlier);
    earlier.extend_from_slice(checksum.as_ref());
    ends.client_uses(ends.carrier);
    ends.client.import(&earlier).expect("an earlier version");
    assert_eq!(ends.hits(), (true, true));
}
