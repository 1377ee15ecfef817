//! The design holds; each slip breaks the property that it should.

use stateright::{Checker, Model};

use super::*;

fn flight(client: Client, application: Application, slip: Slip) -> Flight {
    Flight { client, repeatable: false, application, slip, ticks: 1 }
}

fn broken(flight: Flight) -> Vec<&'static str> {
    let checker = flight.checker().spawn_bfs().join();
    let found = checker.discoveries();
    let broken = |name: &&str| found.contains_key(*name);
    [AT_MOST_ONCE, AT_MOST_ONCE_MORE, BURNED_IS_TRUE, DONE_IS_TRUE]
        .into_iter()
        .filter(broken)
        .collect()
}

#[test]
fn a_careful_client_is_served_at_most_once_by_any_application() {
    for application in [Application::Forgetful, Application::TwoSteps, Application::Transaction] {
        let flight = Flight { ticks: 2, ..flight(Client::Careful, application, Slip::None) };
        let checker = flight.checker().spawn_bfs().join();
        checker.assert_properties();
        // All states: a model that stops early proves nothing.
        assert!(checker.is_done() && checker.unique_state_count() > 1000);
    }
}

/// The owner of the data may have it executed twice, but not more often; other data is not sent again.
#[test]
fn what_its_owner_named_repeatable_is_sent_again_once() {
    for application in [Application::Forgetful, Application::TwoSteps, Application::Transaction] {
        let named = Flight { repeatable: true, ..flight(Client::Careful, application, Slip::None) };
        named.checker().spawn_bfs().join().assert_properties();
    }
    let thrice = flight(Client::Careful, Application::Forgetful, Slip::ResendsTwice);
    assert_eq!(broken(Flight { repeatable: true, ..thrice }), [AT_MOST_ONCE_MORE]);
    // Its own transaction executes a request once, however often it arrives.
    let named = flight(Client::Careful, Application::Transaction, Slip::ResendsTwice);
    assert!(broken(Flight { repeatable: true, ..named }).is_empty());
}

/// Exactly once: at most once, and "done" is only reported for an execution, so that a client may repeat itself until
/// it receives that.
#[test]
fn an_eager_client_needs_the_key_in_the_transaction() {
    let transaction = flight(Client::Eager, Application::Transaction, Slip::None);
    transaction.checker().spawn_bfs().join().assert_properties();
    for application in [Application::Forgetful, Application::TwoSteps] {
        assert_eq!(broken(flight(Client::Eager, application, Slip::None)), [AT_MOST_ONCE]);
    }
}

/// The application's store protects it even if the vault or the client is wrong.
#[test]
fn a_transaction_of_the_application_serves_at_most_once_by_itself() {
    for slip in [Slip::ForgottenIsBurned, Slip::RestartBringsBack, Slip::ResendsOnUnknown] {
        let broken = broken(flight(Client::Careful, Application::Transaction, slip));
        assert!(!broken.contains(&AT_MOST_ONCE), "{slip:?}");
    }
}

#[test]
fn each_slip_of_the_flights_model_is_found() {
    let both = [AT_MOST_ONCE, BURNED_IS_TRUE];
    for slip in [
        Slip::ForeignDoesNotWait,
        Slip::ForgottenIsBurned,
        Slip::UnavailableIsBurned,
        Slip::RestartIsBurned,
        Slip::StaleClock,
        Slip::StandingClock,
        Slip::EqualSpanIsBurned,
        Slip::RestartBringsBack,
        Slip::ReceiptDoesNotTake,
        Slip::TakenIsBurned,
        Slip::SnapshotIsNewLife,
    ] {
        let broken = broken(flight(Client::Careful, Application::Forgetful, slip));
        assert_eq!(broken, both, "{slip:?}");
    }
    for slip in [Slip::ResendsOnUnknown, Slip::ResendsOnUsed] {
        let broken = broken(flight(Client::Careful, Application::Forgetful, slip));
        assert_eq!(broken, [AT_MOST_ONCE], "{slip:?}");
    }
    let early = broken(flight(Client::Careful, Application::Forgetful, Slip::DoneBeforeEffect));
    assert_eq!(early, [DONE_IS_TRUE]);
}
