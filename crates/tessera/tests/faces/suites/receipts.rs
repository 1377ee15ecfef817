//! Receipts: the fate of a forward-secret flight, asked for in a later handshake.

use std::sync::Arc;

use tessera::handshake::EarlyDataStatus;
use tessera::resume::{ClientSession, FlightHandle, Receipt, Vault, Verdict};
use tessera::wire::NamedGroup;
use tessera::{Destination, Error};
use tessera_harness::{EARLY_DATA, Hello, Journal, Mode, Pair, Scene, at, records, to};

use super::FACE;

/// A scene whose server answers questions about flights.
pub(crate) fn scene(mode: Mode) -> (Scene, Arc<Journal>) {
    let mut scene = Scene::over(FACE, tessera_null_provider::provider(), mode);
    let journal = Arc::new(Journal::new(scene.vault.clone()));
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.receipts = Some(journal.clone());
    }
    (scene, journal)
}

/// The server's receipt for a flight, in a resumption.
fn ask(scene: &Scene, flight: FlightHandle) -> Receipt {
    let mut pair = asking(scene, &[flight]);
    pair.run();
    assert_eq!(pair.to_client.error, None);
    let receipts = &pair.client.facts().receipts;
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0].0, flight);
    receipts[0].1
}

pub(crate) fn asking(scene: &Scene, flights: &[FlightHandle]) -> Pair {
    asking_with(scene, ordinary(scene), flights)
}

fn asking_with(scene: &Scene, session: Option<ClientSession>, flights: &[FlightHandle]) -> Pair {
    let destination = Destination { ask_receipts: flights.to_vec(), ..to(session) };
    scene.start_to(destination, at(0))
}

/// A session with an ordinary ticket only.
fn ordinary(scene: &Scene) -> Option<ClientSession> {
    let session = scene.session()?;
    Some(ClientSession { forward_secret: None, ..session })
}

const FORWARD_SECRET: [Mode; 3] = [Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

#[test]
fn a_receipt_reports_whether_a_flight_with_a_lost_answer_was_executed() {
    for mode in FORWARD_SECRET {
        let (scene, journal) = scene(mode);
        let mut pair = scene.pair();
        let flight = pair.client.facts().flight.expect("a flight");
        pair.client_to_server();
        pair.intercept_server();
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
        assert_eq!(pair.server.facts().flight, Some(flight), "both ends know it by the same name");

        assert_eq!(ask(&scene, flight), Receipt::TakenNotDone, "{mode:?}");
        journal.mark_done(flight);
        assert_eq!(ask(&scene, flight), Receipt::Done);
        assert_eq!(ask(&scene, flight), Receipt::Done, "as often as one likes");
    }
}

/// No answer means `unknown`, and what is needed to ask for the receipt survives the error.
#[test]
fn a_client_whose_connection_failed_still_knows_its_flight() {
    for mode in FORWARD_SECRET {
        let (scene, _) = scene(mode);
        let mut pair = scene.pair();
        pair.client_to_server();
        // The server accepts; its answer is damaged on the way.
        let mut answer = pair.intercept_server();
        *answer.last_mut().expect("an answer") ^= 1;
        pair.deliver_to_client(&answer);
        assert!(pair.to_client.error.is_some(), "{mode:?}");
        let facts = pair.client.facts().clone();
        assert_eq!(facts.early_data, EarlyDataStatus::Offered);
        assert_eq!(facts.early_data.verdict(), Some(Verdict::Unknown));
        assert_eq!(facts.early_data_written, EARLY_DATA.len());
        assert_eq!(ask(&scene, facts.flight.expect("a flight")), Receipt::TakenNotDone);
    }
}

#[test]
fn a_flight_that_never_arrived_is_burned_by_asking() {
    for mode in FORWARD_SECRET {
        let (scene, _) = scene(mode);
        let mut pair = scene.pair();
        let flight = pair.client.facts().flight.expect("a flight");
        let recorded = pair.intercept_client();
        let keys = scene.vault.len();

        assert_eq!(ask(&scene, flight), Receipt::Burned, "{mode:?}");
        assert_eq!(ask(&scene, flight), Receipt::Burned);

        // Now it arrives after all. It must not be executed: the client has sent it again by now.
        let mut late = scene.start(None, at(0));
        late.deliver_to_server(&recorded);
        assert_eq!(late.to_server.error, None);
        assert_eq!(late.to_server.early_data, b"");
        let refused = EarlyDataStatus::Rejected(Verdict::Burned);
        assert_eq!(late.server.facts().early_data, refused);
        assert_eq!(late.server.facts().flight, None);
        // Two connections brought two keys each, and the two that resumed them one.
        assert_eq!(scene.vault.len(), keys - 1 + 6);
    }
}

#[test]
fn the_receipt_of_an_unknown_flight_is_unknown() {
    let (scene, journal) = scene(Mode::FsDhe);
    let flight = FlightHandle([7; 32]);
    assert_eq!(ask(&scene, flight), Receipt::Unknown);
    journal.mark_done(flight);
    assert_eq!(ask(&scene, flight), Receipt::Done, "the application forgets last");
}

#[test]
fn a_server_without_receipts_answers_no_request_for_them() {
    let (mut scene, _) = scene(Mode::FsDhe);
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.receipts = None;
    }
    let mut pair = scene.pair();
    let flight = pair.client.facts().flight.expect("a flight");
    pair.client_to_server();
    assert_eq!(ask(&scene, flight), Receipt::Unknown);
    let full = Scene::over(FACE, tessera_null_provider::provider(), Mode::Full);
    assert_eq!(ask(&full, flight), Receipt::Unknown);
}

/// A client without a PSK has proved nothing, and learns and burns nothing.
#[test]
fn a_full_handshake_yields_no_receipt() {
    let (scene, journal) = scene(Mode::FsDhe);
    let other = scene.session().expect("a session");
    let flight = other.forward_secret.as_ref().expect("a ticket").handle;
    journal.mark_done(FlightHandle([7; 32]));
    let mut pair = asking_with(&scene, None, &[flight, FlightHandle([7; 32])]);
    pair.run();
    assert!(pair.to_client.complete && pair.to_server.complete);
    let receipts = pair.client.facts().receipts.iter().map(|(_, receipt)| *receipt);
    assert!(receipts.eq([Receipt::Unknown; 2]));
    is_accepted(&scene, other);
}

/// Asserts that the key of this session's flight still exists.
pub(crate) fn is_accepted(scene: &Scene, session: ClientSession) {
    let mut sent = scene.start(Some(session), at(0));
    sent.run();
    assert_eq!(sent.to_client.early_data_accepted, Some(true));
}

#[test]
fn receipts_are_answered_along_with_the_next_flight() {
    for mode in FORWARD_SECRET {
        let (scene, _) = scene(mode);
        let mut sessions = scene.sessions();
        let mut first = scene.start(sessions.pop(), at(0));
        let flight = first.client.facts().flight.expect("a flight");
        first.client_to_server();

        let destination = Destination { ask_receipts: vec![flight], ..to(sessions.pop()) };
        let mut second = scene.start_to(destination, at(0));
        let next = second.client.facts().flight.expect("another flight");
        assert_ne!(flight, next);
        second.run();
        assert_eq!(second.to_client.early_data_accepted, Some(true));
        assert_eq!(second.client.facts().receipts, [(flight, Receipt::TakenNotDone)]);
    }
}

/// A client that asks about the flight that it is sending has it burned.
#[test]
fn a_flight_that_asks_for_its_own_receipt_is_burned() {
    let (scene, _) = scene(Mode::FsDhe);
    let session = scene.session().expect("a session");
    let flight = session.forward_secret.as_ref().expect("a ticket").handle;
    let destination = Destination { ask_receipts: vec![flight], ..to(Some(session)) };
    let mut pair = scene.start_to(destination, at(0));
    pair.run();
    assert_eq!(pair.client.facts().receipts, [(flight, Receipt::Burned)]);
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
    assert_eq!(pair.to_server.early_data, b"");
}

#[test]
fn receipts_are_answered_after_a_hello_retry_request() {
    let (mut scene, _) = scene(Mode::FsDhe);
    let mut lost = scene.pair();
    let flight = lost.client.facts().flight.expect("a flight");
    lost.client_to_server();
    let session = ordinary(&scene).map(|it| ClientSession { group: None, ..it });
    scene.client.groups = vec![NamedGroup::X25519, NamedGroup::X25519MLKEM768];
    scene.server.groups = vec![NamedGroup::X25519MLKEM768];
    let mut pair = asking_with(&scene, session, &[flight]);
    pair.run();
    assert!(pair.client.facts().hello_retry);
    assert_eq!(pair.client.facts().receipts, [(flight, Receipt::TakenNotDone)]);
}

/// A flight shows neither its own handle nor that of another.
#[test]
fn a_first_flight_shows_no_handle() {
    for mode in FORWARD_SECRET {
        let (scene, _) = scene(mode);
        let mut pair = scene.pair();
        let flight = pair.client.facts().flight.expect("a flight");
        pair.run();
        // The scene's tickets are not sealed, so the second identity is removed.
        let mut hello = Hello::read(&records(&pair.client_sent)[0][5..]);
        let first = hello.identities().remove(0);
        hello.set_identities(&[first], 32);
        assert!(!hello.write().windows(32).any(|window| window == flight.0));
        assert_eq!(format!("{flight:?}"), "FlightHandle(..)");
    }
}

#[test]
fn at_most_eight_receipts_may_be_asked_for() {
    let (scene, _) = scene(Mode::FsDhe);
    let flights: Vec<_> = (0..8).map(|number| FlightHandle([number; 32])).collect();
    let mut pair = asking(&scene, &flights);
    pair.run();
    assert_eq!(pair.client.facts().receipts.len(), 8);

    let flights = vec![flights[0]; 9];
    let destination = Destination { ask_receipts: flights, ..to(None) };
    let refused =
        Pair::start_over(FACE, &scene.client, &scene.server, destination, at(0)).map(drop);
    assert!(matches!(refused, Err(Error::Configuration(reason)) if reason.contains("eight")));
}
