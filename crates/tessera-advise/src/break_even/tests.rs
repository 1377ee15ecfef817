use super::*;

/// One round trip less, 100 µs more of processor time, and tickets that cost 50 µs more.
fn pair() -> (Costs, Costs) {
    let line = |round_trips: f64, own: f64| {
        ResponseCurve::new(vec![(0.0, own), (100.0, own + 1e5 * round_trips)]).unwrap()
    };
    let candidate = Costs {
        waiting_us: line(2.0, 500.0),
        processor_us: Curve::constant(400.0),
        bytes: 5_000.0,
        ticket: Ticket { processor_us: 60.0, bytes: 1_500.0, held_bytes: 2_640.0 },
    };
    let baseline = Costs {
        waiting_us: line(3.0, 450.0),
        processor_us: Curve::constant(300.0),
        bytes: 3_600.0,
        ticket: Ticket { processor_us: 10.0, bytes: 300.0, held_bytes: 0.0 },
    };
    (candidate, baseline)
}

const FAR: Conditions = Conditions {
    round_trip_ms: 134.0,
    waiting_requests: 1.0,
    processor_price: 1.0,
    ticket_lifetime_hours: 1.0,
    renewal: Renewal::Never,
    at_home: 1.0,
};

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value}, not {expected}");
}

#[test]
fn a_reconnection_gains_its_round_trip_less_what_it_costs() {
    let (candidate, baseline) = pair();
    near(gain_us(&candidate, &baseline, &FAR), 134_000.0 - 50.0 - 100.0);
    let dear = Conditions { waiting_requests: 13.0, processor_price: 4.0, ..FAR };
    near(gain_us(&candidate, &baseline, &dear), 13.0 * (134_000.0 - 50.0) - 400.0);
}

#[test]
fn at_the_threshold_an_hour_gains_nothing_and_above_it_something() {
    let (candidate, baseline) = pair();
    for renewal in [Renewal::Never, Renewal::WheneverExpired] {
        for (price, lifetime) in [(1.0, 1.0), (1.0, 24.0), (500.0, 0.1)] {
            let conditions = Conditions {
                renewal,
                processor_price: price,
                ticket_lifetime_hours: lifetime,
                ..FAR
            };
            let BreakEven::From(least) = reconnections_per_hour(&candidate, &baseline, &conditions)
            else {
                panic!("{renewal:?} {price}: no threshold");
            };
            let gain = |rate| hour(&candidate, &baseline, &conditions, rate).gain_us;
            let scale = gain(2.0 * least);
            assert!(gain(least).abs() < 1e-6 * scale, "{renewal:?}: {} of {scale}", gain(least));
            assert!(gain(least / 2.0) < 0.0 && scale > 0.0, "{renewal:?} {price}");
        }
    }
}

/// The closed forms match the sums over gaps.
#[test]
fn tickets_expire_as_often_as_a_poisson_process_lets_them() {
    let (candidate, baseline) = pair();
    let conditions = Conditions { renewal: Renewal::WheneverExpired, ..FAR };
    let (rate, lifetime) = (0.7_f64, conditions.ticket_lifetime_hours);
    // A gap has at least k expiries with the probability that it is longer than k lifetimes.
    let in_a_gap: f64 = (1..200).map(|k| (-rate * lifetime * f64::from(k)).exp()).sum();
    let with_renewals = hour(&candidate, &baseline, &conditions, rate);
    near(with_renewals.processor_us, rate * 100.0 + rate * in_a_gap * 60.0);
    near(with_renewals.bytes, rate * 1_400.0 + rate * in_a_gap * 1_500.0);
    near(with_renewals.in_time, 1.0);

    let without = hour(&candidate, &baseline, &FAR, rate);
    let late = (-rate * lifetime).exp();
    near(without.in_time, 1.0 - late);
    near(without.processor_us, rate * ((1.0 - late) * 100.0 + late * 50.0));
    near(without.waiting_saved_us, rate * (1.0 - late) * (134_000.0 - 50.0));
    near(without.held_bytes, 2_640.0);
}

#[test]
fn a_connection_that_never_breaks_only_pays_for_its_tickets() {
    let (candidate, baseline) = pair();
    let never = hour(&candidate, &baseline, &FAR, 0.0);
    assert_eq!((never.gain_us, never.bytes, never.in_time), (0.0, 0.0, 0.0));
    let conditions =
        Conditions { renewal: Renewal::WheneverExpired, ticket_lifetime_hours: 0.5, ..FAR };
    near(hour(&candidate, &baseline, &conditions, 0.0).gain_us, -120.0);
    // The two formulas agree there.
    near(hour(&candidate, &baseline, &conditions, 1e-9).processor_us, 120.0);
}

#[test]
fn a_cost_without_a_saving_never_pays_and_a_free_saving_always() {
    let (candidate, baseline) = pair();
    let here = Conditions { round_trip_ms: 0.0, ..FAR };
    assert_eq!(reconnections_per_hour(&candidate, &baseline, &here), BreakEven::Never);
    assert_eq!(reconnections_per_hour(&baseline, &candidate, &here), BreakEven::Always);
    assert!(!BreakEven::Never.at(1e9) && BreakEven::Always.at(0.0));
    assert!(BreakEven::From(2.0).at(2.0) && !BreakEven::From(2.0).at(1.9));
}

#[test]
fn it_pays_from_the_round_trip_time_on_that_its_work_costs() {
    let (candidate, baseline) = pair();
    // 50 µs of waiting and 100 µs of work are 0.15 ms of a round trip.
    let BreakEven::From(least) = round_trip_ms(&candidate, &baseline, &FAR) else {
        panic!("no least")
    };
    near(least, 0.15);
    let (at, past) = (Conditions { round_trip_ms: least, ..FAR }, 1.01 * least);
    assert!(gain_us(&candidate, &baseline, &at).abs() < 1e-6);
    assert!(gain_us(&candidate, &baseline, &Conditions { round_trip_ms: past, ..FAR }) > 0.0);
    // With the roles exchanged it pays only at short distances: from no round-trip time *on*.
    assert_eq!(round_trip_ms(&baseline, &candidate, &FAR), BreakEven::Never);

    let cheap = Costs { processor_us: Curve::constant(100.0), ..candidate.clone() };
    assert_eq!(round_trip_ms(&cheap, &baseline, &FAR), BreakEven::Always);
    // Beyond the measured range.
    let costly = Costs { processor_us: Curve::constant(250_300.0), ..candidate };
    let BreakEven::From(least) = round_trip_ms(&costly, &baseline, &FAR) else {
        panic!("no least")
    };
    near(least, 250.05);
}

/// Both take three round trips: noise must not produce a distance from which one of them loses.
#[test]
fn without_a_round_trip_less_it_pays_everywhere_or_nowhere() {
    let (candidate, baseline) = pair();
    let noisy = |near: f64, far: f64| ResponseCurve::new(vec![(0.0, near), (134.0, far)]).unwrap();
    let cheaper = Costs { processor_us: Curve::constant(100.0), ..candidate };
    let cheaper = Costs { waiting_us: noisy(450.0, 403_490.7), ..cheaper };
    let dearer = Costs { waiting_us: noisy(500.0, 404_375.3), ..baseline };
    assert_eq!(round_trip_ms(&cheaper, &dearer, &FAR), BreakEven::Always);
    assert_eq!(round_trip_ms(&dearer, &cheaper, &FAR), BreakEven::Never);
}

/// Of four servers with separate keys, one in four reconnections finds its key.
#[test]
fn a_reconnection_elsewhere_gains_nothing_and_wastes_its_ticket() {
    let (candidate, baseline) = pair();
    let one_of_four = Conditions { at_home: 0.25, ..FAR };
    let here = gain_us(&candidate, &baseline, &FAR);
    assert_eq!(gain_us(&candidate, &baseline, &one_of_four), here / 4.0);
    let BreakEven::From(least) = reconnections_per_hour(&candidate, &baseline, &one_of_four) else {
        panic!("it pays from some number on")
    };
    let BreakEven::From(at_home) = reconnections_per_hour(&candidate, &baseline, &FAR) else {
        panic!()
    };
    assert!(least > at_home, "{least} against {at_home}");
    let gain = |rate: f64| hour(&candidate, &baseline, &one_of_four, rate).gain_us;
    assert!(gain(0.99 * least) < 0.0 && gain(1.01 * least) > 0.0);
    let hardly = Conditions { at_home: 1e-6, ..FAR };
    assert_eq!(reconnections_per_hour(&candidate, &baseline, &hardly), BreakEven::Never);
}
