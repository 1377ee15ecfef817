//! An adversary between the ends records first flights and replays them: nothing is executed twice, no byte reaches
//! another connection, and a program sees an error only if a verdict demands one.

use std::thread;

use tessera_test_peers::{Clock, wait_until};
use tessera_tunnel_tests::Pki;
use tessera_tunnel_tests::between::{
    RecordedConnection, RecordingForwarder, Treatment, answers, replay,
};
use tessera_tunnel_tests::counting::{Client, CountingBackend, ask_once};
use tessera_tunnel_tests::ends::{Program, client_end, server_end};
use tessera_tunnel_tests::free_address;

use crate::stage::{Persistence, Stage, server};

/// How many requests the adversary records first.
const REQUESTS: usize = 8;

/// Makes requests that succeed; returns the adversary's recordings.
#[track_caller]
fn record(stage: &Stage) -> Vec<RecordedConnection> {
    for _ in 0..REQUESTS {
        stage.ask_well();
    }
    let recorded = stage.between.take();
    assert_eq!(recorded.len(), REQUESTS, "a connection for each");
    recorded
}

/// Replays all recordings to the server.
#[track_caller]
fn replay_all(recorded: &[RecordedConnection], stage: &Stage) {
    let before = stage.backend.executions();
    replay(stage.server_address, recorded).unwrap();
    assert_eq!(stage.backend.executions(), before, "a replay was executed");
    stage.backend.executed_nothing_twice();
}

#[test]
fn a_recording_of_ordinary_tls_is_worth_nothing() {
    // Checks the harness: with stunnel the same must hold.
    let (pki, backend) = (Pki::new(), CountingBackend::start());
    let server = server_end(Program::Stunnel, &pki, &[backend.address()]);
    let between = RecordingForwarder::start(server.addresses[0]);
    let client = client_end(Program::Stunnel, &pki, &[between.address()]);
    for number in 0..REQUESTS {
        ask_once(client.addresses[0], &format!("request-{number}")).unwrap();
    }
    assert_eq!(backend.executions(), REQUESTS);
    let recorded = between.take();
    for recorded in &recorded {
        assert!(recorded.first.len() < recorded.all.len(), "more follows the ClientHello");
    }
    replay(server.addresses[0], &recorded).unwrap();
    assert_eq!(backend.executions(), REQUESTS);
    backend.executed_nothing_twice();
}

#[test]
fn no_flight_is_executed_again_at_the_same_server_nor_at_one_that_shares_nothing() {
    let stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    let before = stage.early("accepted");
    let recorded = record(&stage);
    assert_eq!(stage.early("accepted"), before + REQUESTS as u64, "all of them early");
    replay_all(&recorded, &stage);
    let used = [r#"role="server""#, r#"verdict="used""#];
    stage.server.counts("tessera_tunnel_early_data_total", &used, REQUESTS as u64);
    // Another one, in front of the same backend.
    let address = free_address();
    let mut other = server(&stage.pki, &stage.backend, address, Persistence::Nothing);
    other.start();
    let executed = stage.backend.executions();
    replay(address, &recorded).unwrap();
    assert_eq!(stage.backend.executions(), executed, "another server executed a flight");
    // No program is affected.
    stage.ask_well();
    stage.backend.executed_nothing_twice();
}

#[test]
fn after_a_kill_nothing_is_executed_again_and_only_verdicts_are_errors() {
    let mut stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    let recorded = record(&stage);
    stage.server.kill();
    stage.server.start();
    replay_all(&recorded, &stage);
    // Its keys are lost with it: the fate of a flight is unknown to the client.
    let mut errors = 0;
    for _ in 0..REQUESTS {
        let (name, answer) = stage.ask();
        let executed = stage.backend.executions_of(&name, 0);
        assert_eq!(executed, usize::from(answer.is_ok()), "{name}: {answer:?}");
        errors += u64::from(answer.is_err());
    }
    stage.client.counts(
        "tessera_tunnel_connections_total",
        &[r#"role="client""#, r#"outcome="reset_by_verdict""#],
        errors,
    );
    assert_eq!(stage.ended("reset_by_verdict"), errors, "no other error");
    stage.warm_up();
    stage.backend.executed_nothing_twice();
}

#[test]
fn a_kill_costs_no_error_if_the_server_knows_that_its_keys_are_lost() {
    let mut stage = Stage::start(Persistence::State);
    stage.warm_up();
    let recorded = record(&stage);
    stage.server.kill();
    stage.server.start();
    replay_all(&recorded, &stage);
    for _ in 0..REQUESTS {
        stage.ask_well();
    }
    stage.backend.executed_nothing_twice();
}

#[test]
fn after_a_restart_with_a_state_tickets_live_on_and_recordings_do_not() {
    let mut stage = Stage::start(Persistence::State);
    stage.warm_up();
    let recorded = record(&stage);
    assert!(stage.server.end().success());
    stage.server.start();
    replay_all(&recorded, &stage);
    let before = stage.early("accepted");
    stage.ask_well();
    assert_eq!(stage.early("accepted"), before + 1, "the ticket of before the restart");
    stage.backend.executed_nothing_twice();
}

#[test]
fn a_full_disk_loses_the_state_and_nothing_is_executed_again() {
    let mut stage = Stage::start(Persistence::State);
    assert!(stage.server.end().success());
    stage.server.start_with_file_size(8);
    stage.warm_up();
    for _ in 0..4 {
        record(&stage);
    }
    let recorded = record(&stage);
    stage.server.end();
    let told = stage.server.process().stderr();
    assert!(told.contains("state"), "it names what could not be written: {told}");
    stage.server.start();
    replay_all(&recorded, &stage);
    for _ in 0..REQUESTS {
        let (name, answer) = stage.ask();
        let executed = stage.backend.executions_of(&name, 0);
        assert_eq!(executed, usize::from(answer.is_ok()), "{name}: {answer:?}");
    }
    stage.warm_up();
    stage.backend.executed_nothing_twice();
}

#[test]
fn clocks_that_jump_execute_nothing_again() {
    const DAY: i64 = 86_400;
    for keeps in [Persistence::Nothing, Persistence::State] {
        let clock = Clock::new();
        let mut stage = Stage::start(keeps);
        assert!(stage.server.end().success());
        stage.server.start_with_clock(&clock);
        stage.warm_up();
        let mut recorded = record(&stage);
        // Away, to and fro, and back.
        for jump in [600, -600, 30 * DAY, -30 * DAY, 2 * DAY, 0] {
            clock.jump(jump);
            replay_all(&recorded, &stage);
            for _ in 0..3 {
                let (name, answer) = stage.ask();
                let executed = stage.backend.executions_of(&name, 0);
                assert_eq!(executed, usize::from(answer.is_ok()), "{jump}: {name}: {answer:?}");
            }
            recorded.extend(stage.between.take());
            replay_all(&recorded, &stage);
        }
        let resets = stage.ended("reset_by_verdict");
        println!("{keeps:?}: {resets} of 18 requests reset by a verdict");
        stage.warm_up();
        stage.backend.executed_nothing_twice();
    }
}

#[test]
fn a_flight_whose_answer_is_cut_off_is_not_sent_again() {
    let stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    for treatment in [Treatment::CutAnswers, Treatment::KeepBack, Treatment::CopyFirst] {
        stage.between.treat(treatment);
        let resets = stage.ended("reset_by_verdict");
        let (name, answer) = stage.ask();
        assert!(answer.is_err(), "{treatment:?}: there is no known answer");
        stage.client.counts(
            "tessera_tunnel_connections_total",
            &[r#"role="client""#, r#"outcome="reset_by_verdict""#],
            resets + 1,
        );
        stage.between.treat(Treatment::Carry);
        let recorded = stage.between.take();
        assert_eq!(recorded.len(), 1, "{treatment:?}: the client connects once");
        let executed = stage.backend.executions_of(&name, 0);
        assert_eq!(executed, usize::from(treatment != Treatment::KeepBack), "{treatment:?}");
        // What was delayed may arrive late, once.
        for _ in 0..2 {
            answers(stage.server_address, &recorded[0].first).unwrap();
        }
        assert_eq!(stage.backend.executions_of(&name, 0), 1, "{treatment:?}");
        // The next connection is not affected.
        stage.ask_well();
        stage.warm_up();
    }
    let log = stage.client.process().stderr();
    assert!(log.contains("is not sent again") && log.contains("\"flight\""), "{log}");
    stage.backend.executed_nothing_twice();
}

#[test]
fn flights_that_race_with_their_copies_are_executed_once_and_each_error_has_a_verdict() {
    race(10);
}

#[test]
#[ignore = "takes long: make tunnel"]
fn hundreds_of_flights_that_race_with_their_copies_are_executed_once() {
    race(250);
}

#[track_caller]
fn race(requests: usize) {
    let stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    stage.between.treat(Treatment::Double);
    let before = stage.ended("reset_by_verdict");
    let asked: Vec<_> = thread::scope(|scope| {
        let programs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..requests).map(|_| stage.ask()).collect::<Vec<_>>()))
            .collect();
        programs.into_iter().flat_map(|program| program.join().unwrap()).collect()
    });
    let mut errors = 0;
    for (name, answer) in &asked {
        let executed = stage.backend.executions_of(name, 0);
        match answer {
            Ok(()) => assert_eq!(executed, 1, "{name}"),
            Err(_) => assert!(executed <= 1, "{name} was executed {executed} times"),
        }
        errors += u64::from(answer.is_err());
    }
    let accepted = stage.early("accepted");
    println!("{} flights, {accepted} accepted, {errors} lost against their copy", asked.len());
    stage.client.counts(
        "tessera_tunnel_connections_total",
        &[r#"role="client""#, r#"outcome="reset_by_verdict""#],
        before + errors,
    );
    assert_eq!(stage.ended("reset_by_verdict"), before + errors, "each error has a verdict");
    stage.between.treat(Treatment::Carry);
    stage.backend.executed_nothing_twice();
}

#[test]
fn replays_disturb_no_open_connection() {
    let stage = Stage::start(Persistence::Nothing);
    stage.warm_up();
    let mut long = Client::connect(stage.client_address, "long").unwrap();
    long.ask(0).unwrap();
    for _ in 0..REQUESTS {
        stage.ask_well();
    }
    let recorded = wait_until("all but the long connection end", || {
        let ended = stage.between.ended();
        (ended.len() == REQUESTS).then_some(ended)
    });
    for (number, recorded) in recorded.iter().enumerate() {
        answers(stage.server_address, &recorded.first).unwrap();
        long.ask(number + 1).unwrap();
    }
    stage.backend.executed_nothing_twice();
}
