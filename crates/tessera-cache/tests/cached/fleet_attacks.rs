//! Fleet tickets presented where they aren't valid, or by a client other than their owner.

use tessera::wire::{AlertDescription, ExtensionType};
use tessera_harness::Mode;

use crate::fleet::{CACHED, ring};
use crate::{Ends, NamingVerifier, alert, edit_hello, hits_of, in_hello};

#[test]
fn a_fleet_ticket_of_another_ring_is_a_miss() {
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    let other = ends.member(ring());
    other.connect();
    ends.connect();
    ends.only_fleet_tickets_are_left();
    // It knows the chain, but can't open the client's ticket.
    assert_eq!(other.hits(), (true, false));
    assert_eq!(other.server.metrics().found_by_fleet_ticket, 0);
}

/// The server has no record to compare a fleet ticket with, so the ticket itself is bound to one name.
#[test]
fn a_fleet_ticket_is_found_only_under_the_name_and_the_policy_of_its_server() {
    let mut ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let mut pair = ends.start();
    let flight = edit_hello(&pair.intercept_client(), |hello| {
        let name = b"other1.example";
        let entry = [&[0, 0, name.len() as u8][..], name].concat();
        hello.set(ExtensionType::SERVER_NAME, &[&[0, entry.len() as u8][..], &entry].concat());
    });
    pair.deliver_to_server(&flight);
    let metrics = ends.server.metrics();
    assert_eq!((metrics.found_by_fleet_ticket, metrics.missed_unknown_ticket), (0, 1));
    let accepted = ends.scene.server.client_authentication.clone();
    ends.judge_clients_by(NamingVerifier::new("clients of a stricter server"));
    let mut pair = ends.start();
    pair.client_to_server();
    let metrics = ends.server.metrics();
    assert_eq!((metrics.found_by_fleet_ticket, metrics.missed_unknown_ticket), (0, 2));
    // A copy presented there makes no server forget the client.
    assert_eq!(metrics.entries, 1);
    ends.scene.server.client_authentication = accepted;
    ends.connect();
    assert_eq!(ends.hits(), (true, true));
}

/// Any length and any content: what isn't a vector is refused, and what can't be opened is a miss.
#[test]
fn any_bytes_in_place_of_a_fleet_ticket_are_refused_or_a_miss() {
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    let derived: Vec<u8> = (0..16).collect();
    for len in 1..=300_usize {
        let after: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
        for says in [0, len.saturating_sub(1), after[0].into(), 255] {
            let mut body = [&derived[..], &after].concat();
            body[16] = says as u8;
            let mut pair = ends.start();
            let flight = edit_hello(&pair.intercept_client(), |hello| hello.set(CACHED, &body));
            pair.deliver_to_server(&flight);
            let is_vector = usize::from(says as u8) == len - 1 && len > 1;
            let refused = (!is_vector).then_some(AlertDescription::DECODE_ERROR);
            assert_eq!(alert(&pair.to_server.error), refused, "{len} {says}");
        }
    }
    assert_eq!(ends.server.metrics().found_by_fleet_ticket, 0);
}

/// An attacker learns that it opens, but not whose it is; the owner loses nothing.
#[test]
fn a_replayed_fleet_ticket_costs_its_owner_nothing() {
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    let stranger = ends.another_client(&[b'z'; 800]);
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let mut owner = ends.start();
    let body = in_hello(&owner, CACHED).expect("tickets");
    for times in 1..4 {
        let mut pair = stranger.start();
        let flight = edit_hello(&pair.intercept_client(), |hello| hello.set(CACHED, &body));
        pair.deliver_to_server(&flight);
        assert_eq!(pair.to_server.error, None);
        assert_eq!(ends.server.metrics().found_by_fleet_ticket, times);
    }
    owner.run();
    assert_eq!(hits_of(&owner), (true, true));
}
