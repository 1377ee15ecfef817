//! The tasks that begin, wait and end, in simulated time.

use tessera_proxy::http::deadline::Deadline;

use super::network::{Fault, Network, Notes};
use super::*;
use crate::n32c::messages::{N32fErrorInfo, N32fErrorType};

fn passive(site: Site) -> PeerSettings {
    PeerSettings { initiate: false, ..site.peer() }
}

/// Returns HOME and VISITED, both of which initiate.
fn two() -> (Arc<Network>, [Arc<Associations>; 2]) {
    let network = Arc::new(Network::default());
    let home = network.add(HOME, vec![VISITED.peer()]);
    let visited = network.add(VISITED, vec![HOME.peer()]);
    (network, [home, visited])
}

fn in_time() -> Deadline {
    Deadline::after(30 * SECOND)
}

#[tokio::test(start_paused = true)]
async fn both_begin_and_have_one_association() {
    let (network, [home, visited]) = two();
    network.start(HOME);
    network.start(VISITED);
    let (home_peer, visited_peer) = (VISITED.fqdn(), HOME.fqdn());
    let (at_home, at_visited) =
        tokio::join!(home.ensure(&home_peer, in_time()), visited.ensure(&visited_peer, in_time()));
    let (at_home, at_visited) = (at_home.unwrap(), at_visited.unwrap());
    assert_eq!(at_home.id, at_visited.id);
    assert_eq!(home.established(&VISITED.fqdn()).unwrap().id, at_home.id);
    assert_eq!((&at_home.peer, &at_visited.peer), (&VISITED.fqdn(), &HOME.fqdn()));
    tokio::time::sleep(600 * SECOND).await;
    // No other messages are needed; each exchange is one request, on its own connection.
    assert_eq!(network.sent.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_before_the_start_and_answers_do_not_wait_for_it() {
    let (network, [home, visited]) = two();
    tokio::time::sleep(60 * SECOND).await;
    assert!(network.sent.lock().unwrap().is_empty());
    network.start(HOME);
    home.ensure(&VISITED.fqdn(), in_time()).await.unwrap();
    assert!(visited.established(&HOME.fqdn()).is_some());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_silent_peer_ends_at_the_deadline() {
    let (network, [home, _]) = two();
    network.fault(VISITED, Some(Fault::Silent));
    network.start(HOME);
    let started = tokio::time::Instant::now();
    let deadline = Deadline::after(3 * SECOND);
    let result = home.ensure(&VISITED.fqdn(), deadline).await;
    assert_eq!(result.unwrap_err(), NoAssociation::TimedOut);
    assert_eq!(started.elapsed(), 3 * SECOND);
    // An exchange has its own time limit.
    tokio::time::sleep(8 * SECOND).await;
    assert_eq!(home.peers()[0].state.as_str(), "exception");
    network.fault(VISITED, None);
    home.ensure(&VISITED.fqdn(), in_time()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_comes_late_is_found_and_one_that_does_not_is_given_up_soon() {
    let (network, [home, _]) = two();
    network.fault(VISITED, Some(Fault::Down));
    network.start(HOME);
    tokio::time::sleep(120 * SECOND).await;
    let attempts = network.sent.lock().unwrap().len();
    assert!((5..=20).contains(&attempts), "{attempts}");
    let started = tokio::time::Instant::now();
    let soon = Deadline::after(SECOND / 2);
    let why = home.ensure(&VISITED.fqdn(), soon).await.unwrap_err();
    assert!(matches!(why, NoAssociation::Failed(_) | NoAssociation::TimedOut), "{why}");
    assert!(started.elapsed() <= SECOND / 2);
    network.fault(VISITED, None);
    home.ensure(&VISITED.fqdn(), Deadline::after(61 * SECOND)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lost_answers_are_asked_for_again() {
    let (network, [home, visited]) = two();
    network.fault(VISITED, Some(Fault::LosesAnswers));
    network.start(HOME);
    tokio::time::sleep(SECOND / 10).await;
    assert!(home.established(&VISITED.fqdn()).is_none());
    let id = visited.established(&HOME.fqdn()).unwrap().id;
    network.fault(VISITED, None);
    assert_eq!(home.ensure(&VISITED.fqdn(), in_time()).await.unwrap().id, id);
}

#[tokio::test(start_paused = true)]
async fn an_end_is_reported_and_a_new_begin_is_another_association() {
    let (network, [home, visited]) = two();
    network.start(HOME);
    network.start(VISITED);
    let before = home.ensure(&VISITED.fqdn(), in_time()).await.unwrap().id;
    assert!(home.terminate(&VISITED.fqdn(), in_time()).await);
    assert!(home.established(&VISITED.fqdn()).is_none());
    assert!(visited.established(&HOME.fqdn()).is_none());
    let why = home.ensure(&VISITED.fqdn(), in_time()).await.unwrap_err();
    assert_eq!(why, NoAssociation::Terminated);
    // The peer retries after a while, and is refused until an operator here requests it.
    tokio::time::sleep(300 * SECOND).await;
    assert!(home.established(&VISITED.fqdn()).is_none());
    assert_eq!(visited.peers()[0].state.as_str(), "exception");
    assert!(home.reestablish(&VISITED.fqdn()));
    let after = home.ensure(&VISITED.fqdn(), in_time()).await.unwrap().id;
    assert_ne!(before, after);
    assert_eq!(visited.established(&HOME.fqdn()).unwrap().id, after);
    assert!(!home.reestablish(&THIRD.fqdn()));
    assert!(!home.terminate(&THIRD.fqdn(), in_time()).await);
}

#[tokio::test(start_paused = true)]
async fn ending_all_waits_for_no_silent_peer_and_notifies_the_others() {
    let network = Arc::new(Network::default());
    let home = network.add(HOME, vec![VISITED.peer(), THIRD.peer()]);
    let visited = network.add(VISITED, vec![passive(HOME)]);
    network.add(THIRD, vec![passive(HOME)]);
    network.start(HOME);
    for peer in [VISITED, THIRD] {
        home.ensure(&peer.fqdn(), in_time()).await.unwrap();
    }
    network.fault(THIRD, Some(Fault::Silent));
    let started = tokio::time::Instant::now();
    home.terminate_all(Deadline::after(2 * SECOND)).await;
    assert_eq!(started.elapsed(), 2 * SECOND);
    assert!(home.peers().iter().all(|peer| peer.state == State::Terminated(Terminator::Us)));
    assert_eq!(visited.peers()[0].state, State::Terminated(Terminator::Peer));
}

#[tokio::test(start_paused = true)]
async fn an_association_with_a_restarted_peer_is_agreed_again() {
    let (network, [home, visited]) = two();
    network.start(HOME);
    let before = home.ensure(&VISITED.fqdn(), in_time()).await.unwrap();
    drop(visited);
    let visited = network.add(VISITED, vec![passive(HOME)]);
    assert!(visited.established(&HOME.fqdn()).is_none());
    // As its N32-f reported.
    home.lost(&before);
    let at_visited = visited.ensure(&HOME.fqdn(), in_time()).await.unwrap();
    assert_eq!(at_visited.id, before.id);
}

#[tokio::test(start_paused = true)]
async fn a_slow_peer_slows_no_other() {
    let network = Arc::new(Network::default());
    let home = network.add(HOME, vec![VISITED.peer(), THIRD.peer()]);
    network.add(VISITED, vec![HOME.peer()]);
    network.add(THIRD, vec![HOME.peer()]);
    network.fault(THIRD, Some(Fault::Silent));
    network.start(HOME);
    home.ensure(&VISITED.fqdn(), Deadline::after(SECOND)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_goes_out_of_the_configuration_is_unknown_at_once() {
    let (network, [home, visited]) = two();
    network.start(HOME);
    home.ensure(&VISITED.fqdn(), in_time()).await.unwrap();
    let waiting = {
        let home = Arc::new(Associations::new(
            &Settings { local: HOME.local(), peers: vec![passive(VISITED)] },
            Arc::new(()),
        ));
        let waits = home.clone();
        let task = tokio::spawn(async move { waits.ensure(&VISITED.fqdn(), in_time()).await });
        tokio::time::sleep(SECOND).await;
        home.set(&Settings { local: HOME.local(), peers: Vec::new() });
        task
    };
    let started = tokio::time::Instant::now();
    assert_eq!(waiting.await.unwrap().unwrap_err(), NoAssociation::UnknownPeer);
    assert!(started.elapsed() < SECOND);
    visited.set(&Settings { local: VISITED.local(), peers: Vec::new() });
    assert!(visited.established(&HOME.fqdn()).is_none());
    let why = visited.ensure(&HOME.fqdn(), in_time()).await.unwrap_err();
    assert_eq!(why, NoAssociation::UnknownPeer);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_comes_into_the_configuration_is_begun_with() {
    let (network, [home, _]) = two();
    network.start(HOME);
    network.add(THIRD, vec![HOME.peer()]);
    let peers = vec![VISITED.peer(), THIRD.peer()];
    home.set(&Settings { local: HOME.local(), peers });
    home.ensure(&THIRD.fqdn(), in_time()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn changes_are_seen_and_noted() {
    let network = Arc::new(Network::default());
    let [at_home, at_visited] = [(); 2].map(|()| Arc::new(Notes::default()));
    let home = network.add_observed(HOME, vec![VISITED.peer()], at_home.clone());
    network.add_observed(VISITED, vec![passive(HOME)], at_visited.clone());
    let mut changes = home.watch();
    network.fault(VISITED, Some(Fault::Down));
    network.start(HOME);
    changes.changed().await.unwrap();
    assert_eq!(home.peers()[0].state.as_str(), "exception");
    network.fault(VISITED, None);
    changes.changed().await.unwrap();
    assert_eq!(home.peers()[0].state.as_str(), "established");
    let error = N32fErrorInfo {
        n32f_message_id: "1".to_owned(),
        n32f_error_type: N32fErrorType::NetworkMaintenance,
        n32f_context_id: None,
        failed_modification_list: None,
        error_details_list: None,
        policy_mismatch_list: None,
        ri_error_information: None,
    };
    home.report_error(&VISITED.fqdn(), &error, in_time()).await.unwrap();
    home.terminate_all(in_time()).await;
    let expected =
        ["exception", "failed: transport", "established", "agreed as initiator", "terminated"];
    assert_eq!(at_home.take(), expected);
    let expected =
        ["established", "agreed as responder", "reported NETWORK_MAINTENANCE", "terminated"];
    assert_eq!(at_visited.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_report_that_no_peer_accepts_is_an_error() {
    let (network, [home, _]) = two();
    let error: N32fErrorInfo =
        serde_json::from_str(r#"{"n32fMessageId":"1","n32fErrorType":"X"}"#).unwrap();
    let report = home.report_error(&VISITED.fqdn(), &error, in_time()).await;
    assert_eq!(report.unwrap_err().reason(), "transport");
    network.start(HOME);
    network.fault(VISITED, Some(Fault::Silent));
    let report = home.report_error(&VISITED.fqdn(), &error, Deadline::after(SECOND)).await;
    assert_eq!(report, Err(Failure::Transport(TransportError::TimedOut)));
    network.add(VISITED, Vec::new());
    network.fault(VISITED, None);
    let report = home.report_error(&VISITED.fqdn(), &error, in_time()).await;
    assert_eq!(report.unwrap_err().reason(), "refused");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_asks_too_soon_waits_for_the_first_exchange_alone() {
    let (network, [home, visited]) = two();
    network.fault(VISITED, Some(Fault::Silent));
    network.start(HOME);
    let started = tokio::time::Instant::now();
    let soon = || Deadline::after(3 * SECOND);
    assert_eq!(home.established_or_beginning(&VISITED.fqdn(), soon()).await, None);
    assert_eq!(started.elapsed(), 3 * SECOND);
    network.fault(VISITED, None);
    let association = home.established_or_beginning(&VISITED.fqdn(), in_time()).await.unwrap();
    assert_eq!(association.peer, VISITED.fqdn());
    // There is no waiting for an ended association or an unknown peer.
    assert!(visited.terminate(&HOME.fqdn(), in_time()).await);
    let started = tokio::time::Instant::now();
    assert_eq!(visited.established_or_beginning(&HOME.fqdn(), in_time()).await, None);
    assert_eq!(visited.established_or_beginning(&THIRD.fqdn(), in_time()).await, None);
    assert_eq!(started.elapsed(), Duration::ZERO);
}
