//! A client that the server no longer accepts, and how it reacts; with either carrier.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::auth::{
    PeerAcceptance, PeerRejected, PeerVerifier, PrivateKey, VerifierPolicy, VerifyPeer,
};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Error, Reply};
use tessera_harness::{Mode, Pair};

use crate::attacks::Forger;
use crate::refusals::{edit_client, known};
use crate::{Ends, NamingVerifier, hits_of, in_hello};

pub(crate) const REVOKED: AlertDescription = AlertDescription::CERTIFICATE_REVOKED;

/// Makes a connection, and returns the alert that the client got.
pub(crate) fn connect(ends: &Ends) -> (Pair, Option<AlertDescription>) {
    let mut pair = ends.start();
    pair.run();
    let alert = match pair.to_client.error {
        Some(Error::AlertReceived(alert)) => Some(alert),
        _ => None,
    };
    (pair, alert)
}

/// Returns what the client offers: ids of the server's chains, and tickets.
pub(crate) fn offers(ends: &Ends, pair: &Pair) -> (bool, bool) {
    let tickets = in_hello(pair, ends.tickets()).is_some_and(|body| !body.is_empty());
    (in_hello(pair, ends.chains()).is_some(), tickets)
}

/// At its very next connection, however many of its tickets the server still has.
#[test]
fn a_revoked_client_learns_why_at_its_next_connection() {
    for mut ends in Ends::of_both_known() {
        (0..3).for_each(|_| assert_eq!(ends.hits(), (true, true)));
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        let (pair, alert) = connect(&ends);
        assert_eq!(offers(&ends, &pair), (true, true), "{:?}", ends.carrier);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR), "{:?}", ends.carrier);
        let (pair, alert) = connect(&ends);
        assert_eq!(offers(&ends, &pair), (false, false), "{:?}", ends.carrier);
        assert_eq!((alert, hits_of(&pair)), (Some(REVOKED), (false, false)), "{:?}", ends.carrier);
        // It stays that way: the server's tickets are never presented.
        for _ in 0..3 {
            let (pair, alert) = connect(&ends);
            assert_eq!((alert, hits_of(&pair).1), (Some(REVOKED), false), "{:?}", ends.carrier);
        }
        // Once it is accepted again, both learn again.
        ends.judge_clients_by(NamingVerifier::new("clients"));
        ends.connect();
        assert_eq!(ends.hits(), (true, true), "{:?}", ends.carrier);
    }
}

/// The server's entry for it is useless.
#[test]
fn a_client_that_was_revoked_leaves_the_servers_cache_with_its_tickets() {
    for mut ends in Ends::of_both_known() {
        ends.another_client(&[b'z'; 800]).connect();
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        assert_eq!(ends.server.metrics().entries, 2);
        let (pair, _) = connect(&ends);
        assert_eq!(hits_of(&pair), (true, true));
        assert_eq!(ends.server.metrics().entries, 1, "{:?}", ends.carrier);
    }
}

/// Whether or not the chain it names is right, and whatever the verifier's verdict on it.
#[test]
fn a_copied_ticket_of_a_revoked_client_makes_no_server_forget_it() {
    for mut ends in Ends::of_both_known() {
        let mut thief = ends.scene.clone();
        for credential in &mut thief.client.credentials {
            credential.key = PrivateKey::Signs(Arc::new(Forger));
        }
        std::mem::swap(&mut ends.scene, &mut thief);
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        let (pair, alert) = connect(&ends);
        assert_eq!((alert, hits_of(&pair).1), (Some(AlertDescription::DECRYPT_ERROR), true));
        assert_eq!(ends.server.metrics().entries, 1, "{:?}", ends.carrier);
    }
    // Another chain, with a proof that would be right.
    let mut ends = known();
    ends.judge_clients_by(NamingVerifier {
        refuses: Some(REVOKED),
        ..NamingVerifier::new("clients")
    });
    let pair = edit_client(&ends, |parts| parts[5] ^= 1);
    assert!(hits_of(&pair).1);
    assert_eq!(ends.server.metrics().entries, 1);
}

/// Counts how often only a proof is to be checked.
struct ProofCounter(NamingVerifier, Arc<AtomicUsize>);

impl PeerVerifier for ProofCounter {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        self.0.verify(question)
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.is_proof_right(question)
    }
}

/// For a valid client and an invalid one alike, so that it takes an attacker the same time.
#[test]
fn an_attacker_with_a_copied_ticket_gets_one_proof_checked() {
    for (refuses, expected) in [(None, 0), (Some(REVOKED), 1)] {
        for mut ends in Ends::of_both_known() {
            for credential in &mut ends.scene.client.credentials {
                credential.key = PrivateKey::Signs(Arc::new(Forger));
            }
            let asked = Arc::new(AtomicUsize::new(0));
            let naming = NamingVerifier { refuses, ..NamingVerifier::new("clients") };
            ends.judge_clients_by(ProofCounter(naming, asked.clone()));
            let (pair, alert) = connect(&ends);
            assert_eq!((alert, hits_of(&pair).1), (Some(AlertDescription::DECRYPT_ERROR), true));
            assert_eq!(asked.load(Ordering::Relaxed), expected, "{:?}", ends.carrier);
        }
    }
}

/// Even if the refusal passed through a file in between.
#[test]
fn a_client_remembers_in_its_file_that_it_was_refused() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        connect(&ends);
        let exported = ends.client.export();
        ends.client_uses(ends.carrier);
        ends.client.import(&exported).expect("what it exported");
        let (pair, alert) = connect(&ends);
        assert_eq!((offers(&ends, &pair), alert), ((false, false), Some(REVOKED)));
    }
}

/// The server has given the reason.
#[test]
fn a_client_that_was_refused_with_its_whole_chain_goes_on_offering() {
    for carrier in Ends::of_both(Mode::Mutual) {
        let mut ends = carrier;
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
        let (pair, alert) = connect(&ends);
        assert_eq!((alert, hits_of(&pair)), (Some(REVOKED), (false, false)));
        let (pair, _) = connect(&ends);
        assert_eq!((offers(&ends, &pair).0, hits_of(&pair)), (true, (true, false)));
    }
}

/// Its chain was accepted; later data was not.
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

/// An attacker on the path can provoke the server's own alerts this way. They cost the client no more than a
/// lost flight.
#[test]
fn changing_a_clients_last_flight_makes_no_certificate_whole() {
    let changes: [fn(&mut Vec<u8>); 4] = [
        |flight| *flight.last_mut().expect("a flight") ^= 1,
        |flight| flight[0] = 22,
        |flight| flight[3..5].fill(0xff),
        // In the clear: an invalid handshake message, before the flight.
        |flight| drop(flight.splice(0..0, [22, 3, 3, 0, 4, 11, 0, 0, 0])),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        for ends in Ends::of_both_known() {
            // Two handshakes are known, so that a lost flight costs nothing.
            assert_eq!(ends.hits(), (true, true));
            let mut pair = ends.start();
            pair.client_to_server();
            pair.server_to_client();
            let mut flight = pair.intercept_client();
            change(&mut flight);
            pair.deliver_to_server(&flight);
            pair.run();
            let told = matches!(pair.to_client.error, Some(Error::AlertReceived(_)));
            assert!(told && pair.to_client.complete, "{at}: {:?}", pair.to_client.error);
            drop(pair);
            let (pair, alert) = connect(&ends);
            assert_eq!((offers(&ends, &pair), alert), ((true, true), None), "{at}");
            assert!(hits_of(&pair).0, "{at}");
        }
    }
}

/// An attacker that cuts a connection causes no full certificate.
#[test]
fn a_client_that_does_not_learn_of_a_refusal_continues_to_offer() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(NamingVerifier {
            refuses: Some(REVOKED),
            ..NamingVerifier::new("clients")
        });
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
