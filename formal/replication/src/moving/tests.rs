//! The design holds; each slip breaks the property that it should.

use stateright::{Checker, Model};

use super::*;

fn broken(slip: Slip) -> Vec<&'static str> {
    let checker = Moving { slip, crashes: 1, moves: 2 }.checker().spawn_bfs().join();
    let found = checker.discoveries();
    [AT_MOST_ONCE, BURNED_IS_TRUE].into_iter().filter(|name| found.contains_key(*name)).collect()
}

/// All states: a model that stopped early would prove nothing.
#[test]
fn a_key_that_moves_accepts_one_flight_and_burned_is_true() {
    for (crashes, moves, states) in [(2, 2, 10_000), (1, 3, 10_000)] {
        let model = Moving { slip: Slip::None, crashes, moves };
        let checker = model.checker().spawn_bfs().join();
        checker.assert_properties();
        assert!(checker.is_done());
        assert!(checker.unique_state_count() > states, "{}", checker.unique_state_count());
    }
}

#[test]
fn each_slip_of_the_moves_model_is_found() {
    let both = [AT_MOST_ONCE, BURNED_IS_TRUE];
    for slip in [Slip::KeepsACopy, Slip::TakesForAnotherLife, Slip::TakesAgain, Slip::SendsAgain] {
        assert_eq!(broken(slip), both, "{slip:?}");
    }
    for slip in [
        Slip::TakesAfterRefusal,
        Slip::MovedIsBurned,
        Slip::LostAfterMoves,
        Slip::AskedIsNotRefused,
        Slip::ForgottenIsBurned,
        Slip::AnswersAfterExpiry,
    ] {
        assert_eq!(broken(slip), [BURNED_IS_TRUE], "{slip:?}");
    }
}
