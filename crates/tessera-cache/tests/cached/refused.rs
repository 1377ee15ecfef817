//! A client that the server doesn't want any more, and what it makes of that; with either carrier.

use std::sync::Arc;

use tessera::Error;
use tessera::auth::{PeerRejected, PrivateKey};
use tessera::wire::AlertDescription;
use tessera_harness::{Mode, Pair};

use crate::attacks::Forger;
use crate::refusals::{edit_client, known};
use crate::{Ends, Naming, hits_of, in_hello};

pub(crate) const REVOKED: AlertDescription = AlertDescription::CERTIFICATE_REVOKED;

/// A connection, and the alert that the client got.
pub(crate) fn connect(ends: &Ends) -> (Pair, Option<AlertDescription>) {
    let mut pair = ends.start();
    pair.run();
    let alert = match pair.to_client.error {
        Some(Error::AlertReceived(alert)) => Some(alert),
        _ => None,
    };
    (pair, alert)
}

/// What the client offers: ids of the server's chains, and tickets.
pub(crate) fn offers(ends: &Ends, pair: &Pair) -> (bool, bool) {
    let tickets = in_hello(pair, ends.tickets()).is_some_and(|body| !body.is_empty());
    (in_hello(pair, ends.chains()).is_some(), tickets)
}

/// At the very next connection, however many of its tickets the server still has.
#[test]
fn a_client_that_was_revoked_hears_why_at_its_next_connection() {
    for mut ends in Ends::of_both_known() {
        (0..3).for_each(|_| assert_eq!(ends.hits(), (true, true)));
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        let (pair, alert) = connect(&ends);
        assert_eq!(offers(&ends, &pair), (true, true), "{:?}", ends.carrier);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR), "{:?}", ends.carrier);
        let (pair, alert) = connect(&ends);
        assert_eq!(offers(&ends, &pair), (false, false), "{:?}", ends.carrier);
        assert_eq!((alert, hits_of(&pair)), (Some(REVOKED), (false, false)), "{:?}", ends.carrier);
        // It stays so: what the server had of it is never shown.
        for _ in 0..3 {
            let (pair, alert) = connect(&ends);
            assert_eq!((alert, hits_of(&pair).1), (Some(REVOKED), false), "{:?}", ends.carrier);
        }
        // Once it is wanted again, both learn anew.
        ends.judge_clients_by(Naming::new("clients"));
        ends.connect();
        assert_eq!(ends.hits(), (true, true), "{:?}", ends.carrier);
    }
}

/// What the server has of it has no use any more.
#[test]
fn a_client_that_was_revoked_leaves_the_servers_cache_with_its_tickets() {
    for mut ends in Ends::of_both_known() {
        ends.another_client(&[b'z'; 800]).connect();
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        assert_eq!(ends.server.metrics().entries, 2);
        let (pair, _) = connect(&ends);
        assert_eq!(hits_of(&pair), (true, true));
        assert_eq!(ends.server.metrics().entries, 1, "{:?}", ends.carrier);
    }
}

/// Whether the chain that he names is the right one or not, and whatever the verifier says of it.
#[test]
fn who_copied_a_ticket_of_a_revoked_client_makes_no_server_forget_it() {
    for mut ends in Ends::of_both_known() {
        let mut thief = ends.scene.clone();
        for credential in &mut thief.client.credentials {
            credential.key = PrivateKey::Signs(Arc::new(Forger));
        }
        std::mem::swap(&mut ends.scene, &mut thief);
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        let (pair, alert) = connect(&ends);
        assert_eq!((alert, hits_of(&pair).1), (Some(AlertDescription::DECRYPT_ERROR), true));
        assert_eq!(ends.server.metrics().entries, 1, "{:?}", ends.carrier);
    }
    // Another chain, and a proof that would be right.
    let mut ends = known();
    ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
    let pair = edit_client(&ends, |parts| parts[5] ^= 1);
    assert!(hits_of(&pair).1);
    assert_eq!(ends.server.metrics().entries, 1);
}

/// Also where it was told in a file between.
#[test]
fn a_client_remembers_in_its_file_that_it_was_refused() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        connect(&ends);
        let exported = ends.client.export();
        ends.client_uses(ends.carrier);
        ends.client.import(&exported).expect("what it exported");
        let (pair, alert) = connect(&ends);
        assert_eq!((offers(&ends, &pair), alert), ((false, false), Some(REVOKED)));
    }
}

/// The server has said why.
#[test]
fn a_client_that_was_refused_with_its_whole_chain_goes_on_offering() {
    for carrier in Ends::of_both(Mode::Mutual) {
        let mut ends = carrier;
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        let (pair, alert) = connect(&ends);
        assert_eq!((alert, hits_of(&pair)), (Some(REVOKED), (false, false)));
        let (pair, _) = connect(&ends);
        assert_eq!((offers(&ends, &pair).0, hits_of(&pair)), (true, (true, false)));
    }
}

/// Its chain was accepted; what followed was not.
#[test]
fn a_client_whose_data_are_refused_goes_on_offering() {
    for ends in Ends::of_both_known() {
        let mut pair = ends.connect();
        assert_eq!(hits_of(&pair), (true, true));
        let why = PeerRejected { alert: AlertDescription::ACCESS_DENIED, reason: String::new() };
        pair.server.stream().refuse(why, &mut pair.server_output);
        pair.run();
        let alert = Error::AlertReceived(AlertDescription::ACCESS_DENIED);
        assert_eq!(pair.to_client.error, Some(alert));
        assert_eq!(ends.hits(), (true, true), "{:?}", ends.carrier);
    }
}

/// Who cuts a connection makes no certificate whole.
#[test]
fn a_client_that_hears_nothing_of_a_refusal_goes_on_offering() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(Naming { refuses: Some(REVOKED), ..Naming::new("clients") });
        let mut pair = ends.start();
        pair.client_to_server();
        pair.server_to_client();
        pair.client_to_server();
        pair.intercept_server();
        assert_eq!(pair.client.end_of_stream(), Err(Error::Truncated));
        drop(pair);
        let (pair, _) = connect(&ends);
        assert_eq!(offers(&ends, &pair), (true, true), "{:?}", ends.carrier);
    }
}
