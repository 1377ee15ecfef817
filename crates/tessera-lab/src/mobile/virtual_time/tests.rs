//! Arms in virtual time, which a seed repeats.

use tessera_link::NatKind;

use super::*;
use crate::mobile::arm::Stack;
use crate::mobile::client::Detection;
use crate::mobile::measure::{Recovery, Sample};
use crate::mobile::scenario::Change;

const ACKS: u32 = 60;

/// Short enough that sixty acknowledgements meet several hand-overs.
fn scenario() -> Scenario {
    Scenario { period_ms: 2_500, ..Scenario::of_paper(30.0) }
}

const ROUND_TRIP_US: u64 = 60_000;

fn sample(arm: Arm, scenario: &Scenario) -> Sample {
    let pki = Pki::new().unwrap();
    Stage::new(arm, scenario, &pki).unwrap().run(ACKS, 7).unwrap().sample()
}

fn ours() -> impl Iterator<Item = Arm> {
    Arm::ALL.into_iter().filter(|arm| arm.stack() == Stack::Ours)
}

/// Returns the recoveries of a run that has all its acknowledgements.
#[track_caller]
fn recoveries(arm: Arm, scenario: &Scenario) -> Vec<Recovery> {
    let sample = sample(arm, scenario);
    assert_eq!((sample.acks, &sample.failure), (ACKS, &None), "{arm}, {}", scenario.words());
    assert!(sample.recoveries.len() >= 2, "{arm}, {}: {sample:?}", scenario.words());
    sample.recoveries
}

/// Whether a time is so many round trips of the scenario's link, but for a twentieth.
#[track_caller]
fn assert_trips(us: u64, trips: u64, what: &str) {
    assert_trips_of(ROUND_TRIP_US, us, trips, what);
}

#[track_caller]
fn assert_trips_of(round_trip_us: u64, us: u64, trips: u64, what: &str) {
    let expected = trips * round_trip_us;
    assert!((expected..=expected * 21 / 20).contains(&us), "{what}: {us} µs, not {trips} trips");
}

#[test]
fn an_association_goes_on_one_round_trip_after_a_path_is_usable_and_two_if_it_is_proved_first() {
    for (arm, trips) in
        [(Arm::Ipc, 1), (Arm::Tcs, 1), (Arm::Cid, 1), (Arm::CidRrc, 1), (Arm::CidRrcStrict, 2)]
    {
        let scenario = Scenario { detection: Detection::Event, ..scenario() };
        for recovery in recoveries(arm, &scenario) {
            assert_trips(recovery.all_us, trips, arm.name());
            assert!(recovery.others <= 2, "{arm}: {recovery:?}");
            assert!(recovery.longest_other <= 64, "{arm}: {recovery:?}");
            assert_eq!((recovery.detection_us, recovery.keys_us), (0, 0), "{arm}");
        }
    }
}

#[test]
fn a_client_that_connects_again_pays_for_its_handshake() {
    for (arm, trips) in [(Arm::ZeroRttFs, 1), (Arm::PskDhe, 2), (Arm::Full, 3)] {
        let scenario = Scenario { detection: Detection::Event, ..scenario() };
        for recovery in recoveries(arm, &scenario) {
            assert_trips(recovery.all_us, trips, arm.name());
        }
    }
}

#[test]
fn lost_associations_are_known_by_a_reset_and_early_data_is_acknowledged_in_two_round_trips() {
    let restart = Scenario { change: Change::Restart, ..scenario() };
    // At 100 ms a record is always under way when the server restarts.
    for delay_ms in [5.0, 30.0, 100.0] {
        let restart = Scenario { delay_ms, ..restart.clone() };
        for recovery in recoveries(Arm::CidRrc, &restart) {
            let round_trip_us = restart.round_trip().as_micros() as u64;
            assert_trips_of(round_trip_us, recovery.from_record_us, 2, &restart.words());
        }
    }
    for recovery in recoveries(Arm::Full, &restart) {
        assert!(recovery.all_us > 900_000, "without connection IDs it waits: {recovery:?}");
    }
}

#[test]
fn a_second_time_out_costs_a_second() {
    let twice = Scenario { timeouts: 2, ..scenario() };
    let [one, two] = [scenario(), twice].map(|it| recoveries(Arm::Full, &it)[0].all_us);
    assert!((900_000..=1_100_000).contains(&(two - one)), "{one} and {two} µs");
}

#[test]
fn a_rebinding_loses_nothing_of_an_association_with_connection_ids() {
    let nat = Some(NatKind::PortRestricted);
    let rebinding = Scenario { change: Change::Rebinding, nat, ..scenario() };
    for recovery in recoveries(Arm::CidRrc, &rebinding) {
        assert_trips(recovery.from_record_us, 1, "cid-rrc");
    }
    assert!(recoveries(Arm::Full, &rebinding)[0].detection_us > 900_000);
}

#[test]
fn every_arm_survives_losses_two_interfaces_and_long_outages() {
    let losing = Scenario { loss: 0.05, loss_burst: 3.0, ..scenario() };
    let long = Scenario { outage_ms: 3_000, period_ms: 5_500, ..scenario() };
    for arm in ours() {
        for scenario in [&losing, &long] {
            let sample = sample(arm, scenario);
            assert_eq!((sample.acks, sample.failure), (ACKS, None), "{arm}, {}", scenario.words());
        }
        if arm.survives() {
            recoveries(arm, &Scenario { interfaces: 2, ..scenario() });
        }
    }
}

#[test]
fn a_seed_repeats_a_run_and_udp_that_is_blocked_ends_it() {
    // The length of an ECDSA signature varies.
    let of = || {
        let sample = sample(Arm::CidRrc, &Scenario { loss: 0.05, ..scenario() });
        (sample.time_us, sample.recoveries, sample.traffic.datagrams, sample.traffic.lost)
    };
    assert_eq!(of(), of());
    let blocked = sample(Arm::CidRrc, &Scenario { nat: Some(NatKind::Blocked), ..scenario() });
    assert!(blocked.failure.is_some() && blocked.acks == 0, "{blocked:?}");
}

/// The paper's figures 1 to 3: where ServerHello comes from, and where the first message goes.
#[test]
fn a_sequence_has_the_ports_of_each_datagram() {
    let of = |arm| {
        let recording = Stage::new(arm, &scenario(), &Pki::new().unwrap()).unwrap().run(3, 7);
        recording.unwrap().sequence
    };
    for (arm, hello_is_shared) in [(Arm::Ipc, false), (Arm::Tcs, true)] {
        let sequence = of(arm);
        let names: Vec<_> = sequence.iter().take(4).map(|it| it.what.as_str()).collect();
        let expected = ["ClientHello", "HelloRetryRequest", "ClientHello"];
        assert_eq!(names[..3], expected, "{arm}");
        assert!(names[3].starts_with("ServerHello"), "{arm}: {names:?}");
        assert_eq!(sequence[3].from == sequence[0].to, hello_is_shared, "{arm}");
        let last = sequence.iter().rfind(|it| it.what == "message").unwrap();
        assert_ne!(last.to, sequence[0].to, "{arm}");
        assert!(sequence[..4].iter().all(|it| it.arrives), "{arm}");
    }
}

/// The paper's figure 2.
#[test]
fn ipc_dies_behind_a_nat_that_filters_ports_and_tcs_does_not() {
    for nat in
        [NatKind::FullCone, NatKind::AddressRestricted, NatKind::PortRestricted, NatKind::Symmetric]
    {
        let behind = Scenario { nat: Some(nat), ..scenario() };
        let passes = matches!(nat, NatKind::FullCone | NatKind::AddressRestricted);
        for (arm, expected) in [(Arm::Ipc, passes), (Arm::Tcs, true), (Arm::CidRrc, true)] {
            let sample = sample(arm, &behind);
            assert_eq!(sample.failure.is_none(), expected, "{arm} behind {nat}: {sample:?}");
            // A handshake that began again, and one that the engine gave up, have one text.
            let failure = sample.failure.as_deref();
            assert!(failure.is_none_or(|it| it == "no handshake within a minute"), "{sample:?}");
        }
    }
}

/// A server that missed the end of a handshake sends its flight again, to a socket that the client has left for another
/// handshake.
#[test]
fn what_still_comes_to_the_socket_of_an_earlier_association_ends_nothing() {
    let scenario = Scenario { loss: 0.05, ..Scenario::of_paper(30.0) };
    let pki = Pki::new().unwrap();
    let stage = Stage::new(Arm::ZeroRttFs, &scenario, &pki).unwrap();
    for seed in [1, 15, 26] {
        let sample = stage.run(600, seed).unwrap().sample();
        assert_eq!((sample.acks, sample.failure), (600, None), "{seed}");
    }
}
