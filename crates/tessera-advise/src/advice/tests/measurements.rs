//! Measurements, and what they imply for other deployments.

use super::*;
use crate::evidence::{IssuingCost, Load, Protection, Setup, Summary};

const FACTS: &str =
    "reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once connections=1000";

/// Returns the evidence, restricted to cells at these round-trip times.
fn at(rtts: &[f64]) -> Evidence {
    let mut evidence = evidence();
    evidence.cells.retain(|cell| rtts.contains(&cell.link.rtt_ms));
    evidence
}

fn facts(rtt: &str) -> Facts {
    given(&format!("round-trip={rtt} {FACTS}"))
}

fn numbers(advice: &Advice) -> impl Iterator<Item = (&Measurement, &Number)> {
    let of_lines = advice.lines.iter().flat_map(|line| &line.cost);
    let all = of_lines.chain(advice.others.iter().flat_map(|other| &other.cost));
    all.flat_map(|cost| cost.numbers.iter().map(move |number| (cost, number)))
}

#[test]
fn one_round_trip_time_answers_for_itself_alone() {
    let near = at(&[33.0]);
    let advice = advise(&near, &facts("33ms")).unwrap();
    assert_eq!(advice.way.option, Letter::E);
    let pays = line(&advice, "pays");
    assert!(
        pays.answer == "not known" && pays.reason.contains("measurements at two round-trip times"),
        "{pays:?}"
    );
    for rtt in ["0", "5ms", "134ms", "1s"] {
        let error = advise(&near, &facts(rtt)).unwrap_err();
        let NoAdvice::Unmeasured { measured_ms, .. } = &error else { panic!("{error}") };
        assert_eq!(*measured_ms, [33.0]);
        let told = error.to_string();
        assert!(told.contains("it was measured at 33 ms alone"), "{told}");
        assert!(told.contains("tessera lab reconnect --rtt 0,"), "{told}");
    }
    let told = advise(&near, &facts("105ms")).unwrap_err().to_string();
    assert!(
        told.contains("--rtt 0,105ms --repetitions 41 --json results/reconnect.json`"),
        "{told}"
    );
}

#[test]
fn measurements_in_memory_are_no_evidence_about_a_distance() {
    let mut engine = at(&[0.0]);
    engine.cells.iter_mut().for_each(|cell| cell.through = Setup::Engine);
    assert_eq!(engine.through(0.0), Some(Setup::Engine));
    assert_eq!(engine.through(105.0), None);
    let error = advise(&engine, &facts("105ms")).unwrap_err();
    assert!(matches!(&error, NoAdvice::Unmeasured { measured_ms, .. } if measured_ms.is_empty()));
    // Not even if a distance was added by hand.
    let mut far = evidence();
    far.cells.iter_mut().for_each(|cell| cell.through = Setup::Engine);
    assert!(advise(&far, &facts("134ms")).is_err());
    assert!(advise(&engine, &facts("0")).is_ok());
}

/// Beyond the measured range, responses grow by their round trips, and the rest stays as at the nearest measured
/// round-trip time.
#[test]
fn beyond_what_was_measured_only_round_trips_are_added() {
    let (measured, far) = (facts("134ms"), facts("1s"));
    for way in candidates::candidates(&far) {
        let of = |facts| price::WayCost::of(&evidence(), facts, way);
        let (Some(near), Some(far)) = (of(&measured), of(&far)) else { continue };
        let round_trips = if way.option.has_early_data() { 2e3 } else { 3e3 };
        let expected = near.response_us + round_trips * 866.0;
        assert!((far.response_us - expected).abs() < 1e-3, "{way}: {}", far.response_us);
        assert_eq!((near.outside, far.outside), (None, Some(Extrapolation::Beyond(134.0))));
        let rest = price::WayCost { response_us: near.response_us, outside: None, ..far };
        assert_eq!(rest, near, "{way}: work, bytes and uncertainties");
    }
    let advice = advise(&evidence(), &far).unwrap();
    let saves = &advice.summary[2];
    assert!(saves.contains("beyond what was measured, up to 134 ms"), "{saves}");
    assert!(saves.starts_with("saves: responses 1.00 s"), "{saves}");
    let below = advise(&at(&[33.0, 134.0]), &facts("5ms")).unwrap();
    assert!(below.summary[2].contains("below what was measured, from 33 ms on"), "{below}");
}

/// By noise, less work and less uncertainty at 134 ms than at 33.
#[test]
fn no_time_gets_below_zero_and_no_uncertainty_vanishes() {
    let two = at(&[33.0, 134.0]);
    for rtt in ["0", "1ms", "33ms", "200ms", "371ms", "1s", "60s"] {
        let facts = facts(rtt);
        for way in candidates::candidates(&facts) {
            let Some(measured) = price::WayCost::of(&two, &facts, way) else { continue };
            let cells: Vec<_> = two.plain_cells(way, Setup::Endpoints).collect();
            let least = |value: &dyn Fn(&crate::evidence::Cell) -> Option<f64>| {
                cells.iter().filter_map(|cell| value(cell)).fold(f64::INFINITY, f64::min)
            };
            assert!(measured.response_us >= 0.0);
            assert!(
                measured.processor_us >= least(&|cell| cell.processor_us()) - 1e-6,
                "{rtt} {way}"
            );
            assert!(measured.server_us >= least(&|cell| cell.server_us()) - 1e-6, "{rtt} {way}");
            for (off, least) in [
                (
                    measured.response_uncertainty_us.unwrap(),
                    least(&|cell| cell.response_us?.uncertainty()),
                ),
                (
                    measured.processor_uncertainty_us.unwrap(),
                    least(&|cell| cell.processor_uncertainty_us()),
                ),
            ] {
                assert!(off >= least - 1e-6 && off > 0.0, "{rtt} {way}: ± {off}, {least} measured");
            }
        }
        let advice = advise(&two, &facts).unwrap();
        for (cost, number) in numbers(&advice).filter(|(cost, _)| cost.against.is_none()) {
            assert!(number.value >= 0.0, "{rtt}: {cost}");
        }
        assert!(numbers(&advice).all(|(_, number)| number.uncertainty.is_none_or(|off| off > 0.0)));
    }
}

/// No accepted facts overflow a sum or a product.
#[test]
fn the_greatest_and_smallest_facts_have_numbers() {
    const EXTREMES: [(&str, [&str; 2]); 6] = [
        ("round-trip", ["0", "1h"]),
        ("reconnections-per-hour", ["1e-6", "1e9"]),
        ("connections", ["1", "1e9"]),
        ("waiting-requests", ["0", "1e9"]),
        ("processor-price", ["0", "1e9"]),
        ("longest-ticket-lifetime", ["1s", "7d"]),
    ];
    for choice in 0..1 << EXTREMES.len() {
        let facts: Vec<_> = EXTREMES
            .iter()
            .enumerate()
            .map(|(at, (key, values))| format!("{key}={}", values[choice >> at & 1]))
            .collect();
        let facts = facts.join(" ") + " peer-tls=tessera early-requests=at-most-once";
        let advice = advise(&evidence(), &given(&facts)).unwrap();
        let (text, json) = (advice.to_string(), serde_json::to_value(&advice).unwrap());
        for (cost, number) in numbers(&advice) {
            assert!(number.value.is_finite(), "{facts}: {cost}");
        }
        assert!(!text.contains("inf") && !text.contains("NaN"), "{facts}: {text}");
        for cost in json["lines"].as_array().unwrap().iter().flat_map(|it| it["cost"].as_array()) {
            for number in cost.iter().flat_map(|it| it["numbers"].as_array()).flatten() {
                assert!(number["value"].is_f64(), "{facts}: {number}");
            }
        }
    }
}

fn shorten(summary: &mut Option<Summary>, samples: usize) {
    *summary = summary.map(|it| Summary { samples, interval: None, ..it });
}

#[test]
fn two_samples_are_no_reason_for_full_handshakes() {
    let mut two = evidence();
    for cell in &mut two.cells {
        for summary in [&mut cell.response_us, &mut cell.client_cpu_us, &mut cell.server_cpu_us] {
            shorten(summary, 2);
        }
    }
    let error = advise(&two, &facts("134ms")).unwrap_err();
    assert!(matches!(error, NoAdvice::TooFewSamples { samples: 2, .. }), "{error}");
    let told = error.to_string();
    assert!(told.starts_with("n = 2 of (a) full handshake"), "{told}");
    assert!(
        told.contains(": six samples are needed before anything counts as certain; "),
        "{told}"
    );
    // A forced choice needs no certainty.
    let only = given("round-trip=134ms reconnections-per-hour=4 fresh-certificates=true");
    assert_eq!(advise(&two, &only).unwrap().way.option, Letter::A);
    // One way with too few samples, at one round-trip time: the first line reports it.
    let mut some = evidence();
    let of_e = |cell: &&mut crate::evidence::Cell| {
        cell.way.option == Letter::E && cell.link.rtt_ms == 33.0
    };
    some.cells.iter_mut().filter(of_e).for_each(|cell| shorten(&mut cell.response_us, 2));
    let advice = advise(&some, &facts("134ms")).unwrap();
    assert_eq!(advice.way.option, Letter::C);
    let expected = "(c) PSK with key exchange, X25519MLKEM768; of (e) n = 2: six samples are needed before anything \
                    counts as certain";
    assert_eq!(advice.summary[0], expected);
    some.cells.retain(|cell| cell.way.option != Letter::E);
    let advice = advise(&some, &facts("134ms")).unwrap();
    assert!(advice.summary[0].ends_with("; (e) may be used, but wasn't measured"), "{advice}");
}

/// A report's median is of the connections that succeeded, which means little if others failed.
#[test]
fn failures_are_reported_and_make_numbers_less_certain() {
    let with_failures = |failed: usize, interval_of: fn(&mut Summary)| {
        let mut some = evidence();
        for cell in some.cells.iter_mut().filter(|cell| cell.way.option == Letter::E) {
            cell.failed = failed;
            interval_of(cell.response_us.as_mut().unwrap());
        }
        advise(&some, &facts("134ms")).unwrap()
    };
    let few = with_failures(2, |_| {});
    assert_eq!(few.way.option, Letter::E);
    assert!(few.summary[2].ends_with(", against (c) (n = 41, 2 failed)"), "{few}");
    assert!(few.to_string().contains(" (n = 41, 2 failed)"), "{few}");
    let json = serde_json::to_value(&few).unwrap();
    assert_eq!(json["lines"][0]["cost"][0]["failed"], 2);
    let many = with_failures(30, |response| response.interval = None);
    assert_eq!(many.way.option, Letter::C);
    let expected = "; of (e) n = 41, 30 failed: too many failed for anything to count as certain";
    assert!(many.summary[0].ends_with(expected), "{many}");
    // If all failed there is no median, and other round-trip times must not replace it.
    let mut all = evidence();
    let there = |cell: &&mut crate::evidence::Cell| {
        cell.way.option == Letter::E && cell.link.rtt_ms == 134.0
    };
    for cell in all.cells.iter_mut().filter(there) {
        (cell.failed, cell.response_us) = (41, None);
    }
    let advice = advise(&all, &facts("134ms")).unwrap();
    assert_eq!(advice.way.option, Letter::C);
    assert!(advice.summary[0].contains("of (e) n = 41, 41 failed: too many failed"), "{advice}");
    // If that is the safest way, there is no advice.
    let mut full = evidence();
    for cell in full.cells.iter_mut().filter(|cell| cell.way.option == Letter::A) {
        cell.failed = 30;
        cell.response_us.as_mut().unwrap().interval = None;
    }
    let told = advise(&full, &facts("134ms")).unwrap_err().to_string();
    assert!(told.starts_with("n = 41, 30 failed of (a) full handshake"), "{told}");
    assert!(told.contains(": too many failed for anything to count as certain; "), "{told}");
}

#[test]
fn a_storm_that_failed_costs_nothing_and_does_not_count() {
    let storm = |users, failed, server_us| Load {
        way: Way::plain(Letter::C, HYBRID),
        suite: None,
        storm: true,
        users,
        rtt_ms: 0.0,
        failed,
        first_accepted_us: None,
        first_accepted_p99_us: None,
        server_us,
        server_tls_us: server_us,
        tickets: 0,
        held_bytes: None,
    };
    let facts = given("round-trip=134ms reconnections-per-hour=4 connections=1000");
    let together = |loads: &[Load]| {
        let evidence = Evidence { loads: loads.to_vec(), ..evidence() };
        let advice = advise(&evidence, &facts).unwrap();
        assert_eq!(advice.way.option, Letter::C);
        line(&advice, "all at once").clone()
    };
    let whole = together(&[storm(1_000, 1, 500.0)]);
    assert_eq!(whole.answer, "500.0 ms of one processor");
    let what = &whole.cost[0].numbers[0].what;
    assert!(what.ends_with("measured in a storm of 1000, 1 of which failed"), "{what}");
    let failed = together(&[storm(1_000, 990, 1.0), storm(2_000, 0, 600.0)]);
    assert_eq!(failed.answer, "600.0 ms of one processor");
    assert!(failed.reason.ends_with("; a storm of 1000 in (c) doesn't count: 990 failed"));
    let none = together(&[storm(1_000, 2, 1.0)]);
    let what = &none.cost[0].numbers[0].what;
    assert!(what.ends_with("measured one after the other"), "{what}");
}

/// The built-in evidence has no cell with etcd.
#[test]
fn numbers_with_keys_in_memory_are_not_presented_as_those_of_etcd() {
    const MARK: &str = "measured with keys in memory; etcd's own work not measured";
    let etcd = given(&format!(
        "round-trip=134ms {FACTS} servers=3 shared-store=etcd store-round-trip=0.5ms"
    ));
    let advice = advise(&evidence(), &etcd).unwrap();
    assert_eq!((advice.way.option, advice.way.store), (Letter::E, Store::Etcd));
    let of_etcd = |cost: &&Measurement| {
        [cost.way, cost.against].into_iter().flatten().any(|way| way.store == Store::Etcd)
    };
    let all: Vec<_> = numbers(&advice).map(|(cost, _)| cost).filter(of_etcd).collect();
    assert!(all.len() > 5, "{advice}");
    for cost in all {
        let by_the_facts = cost.numbers[0].what.contains("by the facts");
        assert_eq!(cost.without_etcd, !by_the_facts, "{cost}");
        assert_eq!(cost.to_string().contains(MARK), !by_the_facts, "{cost}");
    }
    assert!(advice.summary[2].contains(MARK), "{advice}");
    assert!(!advice.to_string().contains("processor +0"), "{advice}");
    let store = line(&advice, "store");
    let [way_there] = store.cost.as_slice() else { panic!("{store:?}") };
    assert_eq!(way_there.numbers[0].value, 500.0);
    // Nor are the adversary's results.
    let requests = line(&advice, "early requests");
    assert_eq!(requests.cost[0].way, Some(advice.way.with_store(Store::Memory)));
    assert!(requests.reason.ends_with("; it was attacked with keys in memory, not in etcd"));
    let risks = &advice.summary[3];
    assert!(
        risks.contains("before that epoch ends (docs/vaults.md); it was attacked with"),
        "{risks}"
    );
    assert!(risks.starts_with("risks: early data is readable"), "{risks}");
    assert!(line(&advice, "reconnection").reason.contains("from the end of the epoch"), "{advice}");
    assert!(line(&advice, "one-time key's lifetime").reason.ends_with("until its epoch ends"));
    let sepp = Facts { application: Application::Sepp, ..etcd.clone() };
    let sepp = advise(&evidence(), &sepp).unwrap();
    assert_eq!(line(&sepp, "continuation").answer, "psk_dhe_ke");
    assert!(sepp.summary[3].starts_with("risks: early data is readable"), "{sepp}");

    // With measurements of etcd itself, cells and adversary are reported without the remark.
    let mut own = evidence();
    let with_etcd = |way: Way| way.with_store(Store::Etcd);
    for cell in own.cells.clone().into_iter().filter(|cell| cell.way.option == Letter::E) {
        own.cells.push(crate::evidence::Cell { way: with_etcd(cell.way), ..cell });
    }
    for found in own.protections.clone().into_iter().filter(|it| it.way.option == Letter::E) {
        own.protections.push(Protection { way: with_etcd(found.way), ..found });
    }
    let advice = advise(&own, &etcd).unwrap();
    let text = advice.to_string();
    assert_eq!(advice.way.store, Store::Etcd);
    assert!(!text.contains(MARK) && !text.contains("attacked with keys in memory"), "{text}");
    assert_eq!(line(&advice, "store").cost.len(), 2, "{text}");
    assert_eq!(line(&advice, "early requests").cost[0].way, Some(advice.way));
    // A replay that succeeded with etcd counts, whatever happened in memory.
    for found in own.protections.iter_mut().filter(|found| found.way.store == Store::Etcd) {
        found.executions = 2;
    }
    assert_eq!(advise(&own, &etcd).unwrap().way.option, Letter::C);
}

#[test]
fn a_ticket_of_unknown_cost_is_not_taken_for_free() {
    let pays = |evidence: &Evidence| {
        let advice = advise(evidence, &facts("134ms")).unwrap();
        line(&advice, "pays").clone()
    };
    // Each reconnection includes the issuing of one ticket.
    let within = evidence();
    assert!(!pays(&within).answer.contains("if it reconnects"));
    let mut apart = evidence();
    apart.cells.iter_mut().for_each(|cell| cell.with_issuing = false);
    assert_eq!(pays(&apart).answer, "not known");
    assert!(pays(&apart).reason.contains("issuing its tickets"), "{:?}", pays(&apart));
    for cell in &mut apart.cells {
        let server_us = if cell.way.option == Letter::E { 200.0 } else { 20.0 };
        cell.issuing = Some(IssuingCost { server_us, client_us: 10.0, bytes: 300.0 });
    }
    assert!(pays(&apart).answer.contains("if it reconnects"));
    // As for one-time keys in etcd.
    for cell in apart.cells.iter_mut().filter(|cell| cell.way.option == Letter::E) {
        cell.issuing = None;
    }
    assert_eq!(pays(&apart).answer, "not known");
}

/// A saving is attributed to the way that saves, in its unit.
#[test]
fn each_way_pays_for_a_reason_of_its_own() {
    let pays = |facts: &str| line(&advice(&format!("round-trip=134ms {facts}")), "pays").clone();
    let early = pays(FACTS);
    assert!(
        early.reason.contains("each request that waits saves the round trip (1 here)"),
        "{early:?}"
    );
    let resumed = pays("reconnections-per-hour=4");
    assert!(resumed.reason.starts_with("certificates are neither sent nor checked"), "{resumed:?}");
    assert!(resumed.reason.contains("no round trip"), "{resumed:?}");
    let alone = pays(
        "reconnections-per-hour=60 forward-secrecy=not-needed accept-risk=no-forward-secrecy \
         processor-price=1000",
    );
    assert!(alone.reason.starts_with("no key is agreed"), "{alone:?}");
    assert!(alone.reason.contains("a second of processor counts as 1000 of waiting"), "{alone:?}");
    let gain = alone.cost[0].to_string();
    assert!(gain.contains("a reconnection gains what is worth +"), "{gain}");
    assert!(gain.ends_with(" of waiting"), "{gain}");
    assert_eq!(
        serde_json::to_value(&alone.cost[0]).unwrap()["numbers"][0]["unit"],
        "us_of_waiting"
    );
    // No request waits.
    let nobody = pays("reconnections-per-hour=4 waiting-requests=0");
    assert!(!nobody.reason.contains("each request"), "{nobody:?}");
}

#[test]
fn one_connection_is_one() {
    let text = advice("round-trip=134ms reconnections-per-hour=4").to_string();
    assert!(
        text.contains("one connection reconnects") && !text.contains("1 connections"),
        "{text}"
    );
}
