//! Reports that no run has written.

use serde_json::{Value, json};

use super::reports::{load, roaming, traffic};
use crate::results::input::Inputs;

/// A change of a report.
type Change = fn(&mut Value);

/// Returns the report that is refused, and why.
fn refusal(roaming: &Value, load: &Value, traffic: &Value) -> (&'static str, String) {
    let texts = [roaming, load, traffic].map(Value::to_string);
    let inputs = Inputs::of(Some(&texts[0]), Some(&texts[1]), Some(&texts[2]));
    inputs.err().expect("it is refused")
}

#[test]
fn a_report_that_is_none_is_named() {
    let wrong = Inputs::of(Some("{}"), None, None);
    let (name, what) = wrong.err().unwrap();
    assert_eq!(name, "roaming.json");
    assert!(what.contains("missing field"), "{what}");
    assert_eq!(Inputs::default().missing().count(), 3);
}

#[test]
fn an_impossible_roaming_report_is_refused_with_the_cells_name() {
    let first = "engine/a/full/x25519/none/none/memory/0x1302/none";
    let changes: [(Change, &str); 12] = [
        (|it| it["experiment"] = json!("reconnect"), "`reconnect`, not of `roaming`"),
        (|it| it["cells"][0]["samples"]["send_us"][3] = json!(-5.0), "a sample took -5 µs"),
        (|it| it["cells"][0]["samples"]["send_us"][0] = json!(1e300), "µs"),
        (|it| it["cells"][0]["samples"] = json!({}), "it has no sample"),
        (
            |it| it["cells"][0]["failed"] = json!(7),
            "7 reconnections failed, and there are reasons for 0",
        ),
        (|it| it["cells"][0]["round_trips"]["first_byte"] = json!(77.5), "Some(77.5)"),
        (|it| it["cells"][0]["round_trips"]["response"] = json!(1.5), "Some(1.5)"),
        (|it| it["cells"][0]["link"]["rtt_ms"] = json!(-33.0), "the round-trip time in ms is -33"),
        (|it| it["cells"][0]["link"]["loss_burst"] = json!(0.0), "the burst of losses is 0"),
        (
            |it| it["cells"][0]["operations"]["client"][0]["us"] = json!(-1.0),
            "an operation took -1 µs",
        ),
        (|it| it["cells"][0]["issuing"]["server_us"] = json!(-1e300), "the issuing of a ticket"),
        (|it| it["cells"][1] = it["cells"][0].clone(), "occurs twice"),
    ];
    for (change, words) in changes {
        let mut report = roaming();
        change(&mut report);
        let (name, what) = refusal(&report, &load(), &traffic());
        assert_eq!(name, "roaming.json");
        assert!(what.contains(words), "{words}: {what}");
        assert!(what.contains(first) || what.contains("experiment"), "{what}");
    }
    // A measured cell can't also be listed as not run.
    let mut report = roaming();
    report["not_run"][0]["link"] = report["cells"][0]["link"].clone();
    assert!(refusal(&report, &load(), &traffic()).1.contains("occurs twice"));
}

#[test]
fn an_impossible_load_report_is_refused_with_the_cells_name() {
    let cell = "users/1/134ms/a/full/x25519/none/none/memory/0x1302";
    let changes: [(Change, &str); 14] = [
        (|it| it["cells"][0]["users"] = json!(0), "0 users with 20 reconnections"),
        (|it| it["cells"][0]["users"] = json!(u64::MAX), "are no load"),
        (|it| it["cells"][0]["failed"] = json!(1_000_000), "1000000 of 20 reconnections failed"),
        (
            |it| it["cells"][0]["failed"] = json!(2),
            "2 reconnections failed, and there are reasons for 0",
        ),
        (|it| it["cells"][0]["requests"] = json!(26), "26 requests; by what was asked and failed"),
        (|it| it["cells"][0]["response_us"] = json!([[100.0, 19]]), "19 responses"),
        (|it| it["cells"][0]["first_accepted_us"] = json!([[100.0, 21]]), "21 requests accepted"),
        (|it| it["cells"][0]["registration_us"] = json!([]), "0 registrations"),
        (|it| it["cells"][0]["response_us"] = json!([[1e10, 20]]), "took"),
        (|it| it["cells"][0]["seconds"] = json!(0.0), "it took 0 s"),
        (|it| it["cells"][0]["seconds"] = json!(1e308), "took"),
        (|it| it["cells"][0]["server_tls_us_per_connection"] = json!(-1.0), "took -1 µs"),
        (|it| it["cells"][0]["rtt_ms"] = json!(-33.0), "the round-trip time in ms is -33"),
        (|it| it["cells"][1] = it["cells"][0].clone(), "occurs twice"),
    ];
    for (change, words) in changes {
        let mut report = load();
        change(&mut report);
        let (name, what) = refusal(&roaming(), &report, &traffic());
        assert_eq!(name, "load.json");
        assert!(what.contains(words), "{words}: {what}");
        let of_cell = what.contains(cell) || what.starts_with("users/");
        assert!(of_cell, "{what}");
    }
    let memory: [(Change, &str); 3] = [
        (|it| it["total"] = json!(424_242), "add up to 66 bytes, but the total is 424242"),
        (|it| it["peak"]["components"]["rest"] = json!(i64::MAX), "the most at once"),
        (|it| it["held"]["total"] = json!(-1), "idle"),
    ];
    for (change, words) in memory {
        let mut report = load();
        change(&mut report["memory"][0]);
        let (_, what) = refusal(&roaming(), &report, &traffic());
        assert!(what.contains(words), "{words}: {what}");
        assert!(what.starts_with("memory/new/client/a/full/x25519/"), "{what}");
    }
    let mut report = load();
    report["cells"][0]["response_us"] = json!([[-100.0, 20]]);
    assert!(refusal(&roaming(), &report, &traffic()).1.contains("-100"));
}

#[test]
fn an_impossible_traffic_report_is_refused_with_the_flows_number() {
    let changes: [(Change, &str); 7] = [
        (|it| it["rtt_ms"] = json!(1e308), "the round-trip time"),
        (|it| it["sizes_and_times"] = json!([]), "it has no record"),
        (|it| it["sizes_and_times"][0] = json!([0, 0]), "no record has 0 bytes"),
        (
            |it| it["sizes_and_times"][0] = json!([i64::MIN, 0]),
            "no record has -9223372036854775808",
        ),
        (|it| it["sizes_and_times"][1] = json!([-2000, u64::MAX]), "a record took"),
        (|it| it["sizes_and_times"][0] = json!([500, 60_000]), "not in the order"),
        (|it| it["plaintext"] = json!([2]), "there is no record 2"),
    ];
    for (change, words) in changes {
        let mut report = traffic();
        change(&mut report["flows"][1]);
        let (name, what) = refusal(&roaming(), &load(), &report);
        assert_eq!(name, "traffic.json");
        assert!(what.starts_with("flow 2: ") && what.contains(words), "{words}: {what}");
    }
    let mut report = traffic();
    report["experiment"] = json!("load");
    assert!(refusal(&roaming(), &load(), &report).1.contains("`load`, not of `traffic`"));
}
