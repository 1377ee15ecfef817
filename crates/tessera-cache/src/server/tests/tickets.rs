//! Tickets that a store takes, keeps and drops.

use super::*;

/// An attacker with a copy could present it at a listener of the same name with another policy.
#[test]
fn a_ticket_that_is_shown_under_another_policy_costs_its_client_nothing() {
    let mut store = store(100, 1 << 20);
    let [ticket, spare] = learn(&mut store, 1, 1, &[]);
    let other = AcceptanceConditions { policy: Some(VerifierDigest([1; 32])), ..under(1) };
    let found = store.take(&[ticket.bytes, spare.bytes], other, NOW, |_| true);
    assert_eq!(found.err(), Some(MissReason::Policy));
    let metrics = store.metrics();
    assert_eq!((metrics.missed_policy, metrics.missed_unknown_ticket, metrics.entries), (1, 0, 1));
    assert!(is_known(&mut store, ticket, 1) && is_known(&mut store, spare, 1));
}

#[test]
fn a_leaf_has_eight_tickets_at_most_wherever_it_was_shown() {
    // With other issuers each time, only the last tickets of each server are left.
    for (issuers, live) in [([0; 10], 8), ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4)] {
        let mut store = store(10, 1 << 20);
        let mut tickets = Vec::new();
        for issuer in issuers {
            for server in [1, 2] {
                let learned = learn_at(&mut store, 1, 1, &[issuer], server);
                tickets.extend(learned.map(|it| (it, server)));
            }
        }
        assert_eq!(store.metrics().entries, 2);
        tickets.retain(|(ticket, server)| is_known(&mut store, *ticket, *server));
        assert_eq!(tickets.len(), live, "{issuers:?}");
    }
}

#[test]
fn a_leaf_with_eight_tickets_loses_those_of_its_other_server_first() {
    let mut store = store(10, 1 << 20);
    let known = |store: &mut Store, server| {
        let learned: Vec<_> = (0..4).flat_map(|_| learn_at(store, 1, 1, &[], server)).collect();
        move |store: &mut Store| {
            learned.iter().filter(|ticket| is_known(store, **ticket, server)).count()
        }
    };
    let (earlier, later) = (known(&mut store, 1), known(&mut store, 2));
    assert_eq!((earlier(&mut store), later(&mut store)), (0, 8));
}

#[test]
fn only_a_client_that_showed_one_of_two_tickets_loses_the_other() {
    let learned = |rounds: usize, presented: bool| {
        let mut store = store(10, 1 << 20);
        let tickets: Vec<_> = (0..rounds).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
        let found = store.take(&[tickets[0].bytes], under(1), NOW, |_| true).ok();
        let found = found.expect("a client").peer;
        store.learn(&found, &[[1; 10], [2; 10]].map(Ticket::new), presented);
        tickets.into_iter().filter(|ticket| is_known(&mut store, *ticket, 1)).count()
    };
    assert_eq!((learned(1, true), learned(1, false)), (0, 1));
    // With more than two, as concurrent connections leave them, none is known to be of no use.
    assert_eq!((learned(2, true), learned(2, false)), (3, 3));
}

#[test]
fn the_oldest_of_a_clients_tickets_leaves_first() {
    let mut store = store(10, 1 << 20);
    let tickets: Vec<_> = (0..6).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
    let known: Vec<_> = tickets.iter().map(|ticket| is_known(&mut store, *ticket, 1)).collect();
    assert_eq!(known.iter().filter(|known| **known).count(), 8);
    assert!(known[4..].iter().all(|known| *known), "{known:?}");
}

/// The numbers that order tickets wrap around.
#[test]
fn the_oldest_ticket_leaves_first_after_any_number_of_them() {
    let mut store = store(10, 1 << 20);
    for _ in 0..4 {
        learn(&mut store, 1, 1, &[]);
    }
    let extra = store.extras.of(0);
    let ahead = u32::MAX - 2 - extra.next;
    extra.next += ahead;
    extra.came.iter_mut().for_each(|came| *came += ahead);
    let tickets: Vec<_> = (0..6).flat_map(|_| learn(&mut store, 1, 1, &[])).collect();
    let known: Vec<_> = tickets.iter().map(|ticket| is_known(&mut store, *ticket, 1)).collect();
    assert_eq!(known, [[false; 4].as_slice(), &[true; 8]].concat());
}

#[test]
fn a_fleet_ticket_is_taken_for_a_month() {
    assert_eq!(ServerCache::FLEET_TICKET_AGE.as_secs(), 2_592_000);
}
