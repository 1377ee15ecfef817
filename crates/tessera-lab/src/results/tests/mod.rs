//! Tables of reports whose numbers are known.

use serde_json::{Value, json};
use tessera_link::{LinkKind, LinkParameters};

use super::input::Inputs;
use super::table::Table;
use super::{page, tables};
use crate::experiment::LinkReport;
use crate::sepp_pair::SeppOption;
use crate::topology;
use crate::variants::{Store, Suite, Variant};
use crate::ways::{Mode, Way};

/// How long option number `index` takes, in µs, beyond its link: each is told from the others.
fn work_us(index: usize) -> f64 {
    100.0 + 10.0 * index as f64
}

fn cell(variant: &Variant, index: usize, through: &str, link: Value) -> Value {
    let rtt_us = link["rtt_ms"].as_f64().unwrap() * 1e3;
    let work = work_us(index);
    // Early data saves a round trip.
    let early = variant.way().mode.has_early_data();
    let first = rtt_us * if early { 1.5 } else { 2.5 } + work;
    let nine = |us: f64| [us; 9];
    let around = |us: f64| (0..9).map(|i| us + f64::from(i - 4)).collect::<Vec<_>>();
    let samples = json!({
        "send_us": around(work), "receive_us": nine(2.0 * work), "tcp_us": nine(rtt_us),
        "first_byte_us": around(first), "handshake_us": nine(2.0 * rtt_us + work),
        "response_us": around(first + rtt_us / 2.0 + work), "client_engine_us": nine(40.0),
        "server_engine_us": nine(60.0), "client_cpu_us": nine(50.0), "server_cpu_us": nine(work)
    });
    let mut cell = json!({
        "through": through, "link": link, "samples": samples, "failed": 1, "why_failed": { "reset": 1 },
        "round_trips": { "first_byte": if early { 0.5 } else { 1.5 }, "response": if early { 1.0 } else { 2.0 } },
        "bytes": { "client": 1000 + index, "server": 2000, "first_flight": 500 },
        "operations": { "client": [{ "operation": "hash", "count": 7.0, "us": 3.5 }], "server": [] },
        "issuing": { "server_us": 30.0, "client_us": 10.0, "bytes": 300 },
        "registration": if through == "sepp" { json!({
            "samples_us": [5000.0, 7000.0], "exchanges": 13, "cpu_us": { "client": 2500.0, "server": 3500.0 },
            "resident": { "client": 30_000_000, "server": 40_000_000 }
        }) }
            else { Value::Null },
        "beside": 0, "lateness": { "packets": 9, "mean_us": 20.0, "most_us": 300.0 },
    });
    flatten(&mut cell, variant);
    cell
}

fn flatten(value: &mut Value, variant: &Variant) {
    let Value::Object(fields) = serde_json::to_value(variant).unwrap() else { panic!("an object") };
    value.as_object_mut().unwrap().extend(fields);
}

fn link(name: &str, rtt_ms: f64, loss: f64, burst: f64, congestion: f64) -> Value {
    json!({ "name": name, "rtt_ms": rtt_ms, "loss": loss, "loss_burst": burst, "congestion": congestion })
}

fn machine() -> Value {
    json!({ "cpu": "a processor", "cores": 2, "kernel": "Linux 6" })
}

fn usual() -> Vec<Variant> {
    let is_usual = |variant: &Variant| {
        variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
    };
    Variant::all().into_iter().filter(is_usual).collect()
}

fn roaming() -> Value {
    let mut cells = Vec::new();
    for (index, variant) in Variant::all().iter().enumerate() {
        cells.push(cell(variant, index, "engine", link("none", 0.0, 0.0, 1.0, 0.0)));
    }
    for (index, variant) in usual().iter().enumerate() {
        for stretch in &topology::ROAMING {
            let rtt = stretch.rtt_ms as f64;
            for [loss, burst, congestion] in
                [[0.0, 1.0, 0.0], [0.01, 1.0, 0.0], [0.01, 3.0, 0.0], [0.0, 1.0, 0.2]]
            {
                let link = link(stretch.name, rtt, loss, burst, congestion);
                cells.push(cell(variant, index, "endpoints", link));
            }
        }
    }
    // As two SEPPs are: of another suite than the rest.
    for (index, variant) in Variant::all().iter().enumerate() {
        if SeppOption::is_nearest(variant) {
            cells.push(cell(variant, index, "sepp", link("seoul-tokyo", 33.0, 0.0, 1.0, 0.0)));
        }
    }
    let mut not_run = json!({
        "through": "engine", "link": link("none", 0.0, 0.0, 1.0, 0.0), "reason": "no program etcd | here"
    });
    flatten(&mut not_run, &Variant::all()[0]);
    json!({
        "experiment": "roaming", "seed": 7, "machine": machine(), "revision": "abc", "link": "tun",
        "cells": cells, "not_run": [not_run]
    })
}

fn load() -> Value {
    let mut cells = Vec::new();
    let mut memory = Vec::new();
    for (index, variant) in usual().iter().enumerate() {
        for (kind, users, reconnections) in
            [("users", 1, 20), ("users", 10, 20), ("users", 100, 20), ("storm", 1000, 1)]
        {
            let early = variant.way().mode.has_early_data();
            let first = if early { 201_000.0 } else { 335_000.0 };
            let mut cell = json!({
                "kind": kind, "users": users, "rtt_ms": 134.0, "reconnections": reconnections, "failed": 0,
                "why_failed": {}, "requests": 1, "seconds": 2.0, "requests_per_second": 500.0,
                "first_accepted_us": [[first, 99], [2.0 * first, 1]], "response_us": [[first, 100]],
                "registration_us": [[9000.0, 100]], "server_cpu_us_per_connection": 300.0,
                "server_tls_us_per_connection": work_us(index), "client_cpu_us_per_connection": 200.0,
                "server_memory_bytes": 5000, "vault_bytes": 77, "tickets": 7
            });
            flatten(&mut cell, variant);
            cells.push(cell);
        }
        for (connection, side) in [("new", "client"), ("new", "server"), ("resumed", "client")] {
            let components = json!({
                "certificates": 10, "key_exchange": 20, "signature": 1, "tickets_and_replay_state": 2,
                "buffers": 3, "rest": 30
            });
            let mut row = json!({
                "connection": connection, "side": side, "components": components, "total": 66,
                "peak": { "components": components, "total": 50 }, "held": { "components": components, "total": 40 },
                "vault_bytes": 5
            });
            flatten(&mut row, variant);
            memory.push(row);
        }
    }
    json!({
        "experiment": "load", "seed": 8, "machine": machine(), "revision": null, "cells": cells,
        "memory": memory, "growth": [], "link": "tun", "not_run": []
    })
}

fn traffic() -> Value {
    let mut flows = Vec::new();
    for option in [Mode::Full, Mode::ZeroRttFs] {
        let variant = Variant::new(Way::all(&[option])[0], Suite::default(), Store::default());
        for padding in [Value::Null, json!(512)] {
            for us in 0..10 {
                let client = if option == Mode::Full { 500 } else { 900 };
                let mut flow = json!({
                    "rtt_ms": 33.0, "padding": padding, "plaintext": [0],
                    "sizes_and_times": [[client, us], [-2000, 50_000]]
                });
                flatten(&mut flow, &variant);
                flows.push(flow);
            }
        }
    }
    let link = LinkReport::new(LinkKind::Tun, &LinkParameters::default());
    json!({
        "experiment": "traffic", "seed": 9, "machine": machine(), "link": link, "flows": flows,
        "confusion": { "folds": 1, "tables": [] }, "costs": []
    })
}

fn inputs() -> Inputs {
    let texts = [roaming(), load(), traffic()].map(|report| report.to_string());
    Inputs::of(Some(&texts[0]), Some(&texts[1]), Some(&texts[2])).unwrap()
}

fn table(name: &str) -> Table {
    let all = tables::all(&inputs());
    let (_, table) = all.into_iter().find(|(known, _)| *known == name).unwrap();
    table.unwrap()
}

fn row<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    let row = table.rows.iter().find(|row| row.name == name);
    let names = || table.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>();
    let row = row.unwrap_or_else(|| panic!("no {name} among {:?}", names()));
    row.cells.iter().map(String::as_str).collect()
}

#[test]
fn every_table_is_made_of_whole_reports_and_none_of_nothing() {
    for (name, table) in tables::all(&inputs()) {
        let table = table.unwrap_or_else(|| panic!("no table {name}"));
        let width = table.columns.len();
        assert!(table.rows.iter().all(|row| row.cells.len() + 1 == width), "{name}");
    }
    for (name, table) in tables::all(&Inputs::default()) {
        assert_eq!(table, None, "{name}");
    }
}

#[test]
fn table_5_has_the_papers_numbers_beside_the_medians_of_the_samples() {
    let table = table("table-5");
    assert_eq!(table.rows.len(), 15);
    // (a) is the first variant, so its work is 100; (d) with X25519 is the sixth: 150.
    let full = row(&table, "(a) full handshake, X25519");
    assert_eq!(full[0], "9");
    assert_eq!(full[1..4], ["100.0±3.00", "200.0±0.00", "300.0±3.00"]);
    assert_eq!(full[4], "0.67×");
    assert_eq!(full[5..], ["734", "669", "1403", "8.40×"]);
    let baseline = row(&table, "(d) 0-RTT, no register, X25519");
    assert_eq!((baseline[4], baseline[8]), ("1.00×", "1.00×"));
    assert_eq!(row(&table, "(d') 0-RTT, single-use tickets, X25519")[5..], ["–"; 4]);
}

#[test]
fn the_time_of_the_link_is_apart_from_the_work_of_the_ends() {
    let table = table("seoul-los-angeles");
    // Two and a half round trips of 134 ms, and 0.1 ms of work.
    let full = row(&table, "(a) full handshake, X25519");
    assert_eq!(full[4..6], ["335.0", "0.100"]);
    let fs = row(&table, "(e) 0-RTT FS, X25519, psk_ke");
    assert_eq!(fs[4], "201.0");
}

/// The link's time is what an option must wait for. One that waits longer, whatever for, has that beyond the link.
#[test]
fn a_round_trip_too_many_is_not_the_links() {
    let mut report = roaming();
    for cell in report["cells"].as_array_mut().unwrap() {
        let late = json!(vec![469_100.0; 9]);
        cell["samples"]["first_byte_us"] = late;
    }
    let inputs = Inputs::of(Some(&report.to_string()), None, None).unwrap();
    let all = tables::all(&inputs);
    let table = all.into_iter().find(|(name, _)| *name == "seoul-los-angeles").unwrap().1.unwrap();
    assert_eq!(row(&table, "(a) full handshake, X25519")[4..6], ["335.0", "134.1"]);
}

#[test]
fn what_is_missing_has_no_bar() {
    let bars = |report: &Value| {
        let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
        let page = page::render(&inputs, &tables::all(&inputs));
        (page.matches("class=\"bar\"").count(), page.matches("H0.0\"/>").count())
    };
    let mut report = load();
    // Of resumed connections only the client's memory is there.
    let (before, empty) = bars(&report);
    assert_eq!(empty, 0);
    report["memory"].as_array_mut().unwrap().retain(|row| row["side"] == "client");
    assert_eq!(bars(&report), (before - usual().len(), 0));
}

#[test]
fn loss_and_congestion_stand_beside_the_undisturbed_link() {
    let loss = table("loss");
    assert_eq!(loss.columns, ["link, option", "no loss", "1 %", "1 % in bursts of 3"]);
    assert_eq!(loss.rows.len(), 3 * 15);
    let cells = row(&loss, "seoul-tokyo: (b) PSK only");
    assert!(cells.iter().all(|cell| cell.ends_with("(9, 1 failed)")), "{cells:?}");
    assert_eq!(table("congestion").columns[1..], ["none", "20 % of the RTT"]);
}

#[test]
fn the_memory_of_a_connection_stands_by_component_beside_the_papers() {
    let memory = table("memory");
    let full = row(&memory, "(a) full handshake, X25519: new, client");
    assert_eq!(full, ["10", "20", "1", "2", "3", "30", "66", "50", "40", "5", "9.2"]);
}

#[test]
fn two_sepps_are_measured_by_registrations_too() {
    let cells = table("sepp");
    let full = row(&cells, "seoul-tokyo: (a) full handshake, X25519MLKEM768, 0x1301, memory");
    assert_eq!(full[4..], ["6.000", "7.000", "2.500", "3.500", "30.00", "40.00"]);
}

#[test]
fn targets_are_judged_by_the_samples() {
    let targets = table("targets");
    let judged = |start: &str| -> Vec<(&str, &str)> {
        let rows = targets.rows.iter().filter(|row| row.name.starts_with(start));
        rows.map(|row| (row.cells[0].as_str(), row.cells[3].as_str())).collect()
    };
    // 134 ms less, in all four pairs; buckets are known to half a percent.
    assert_eq!(judged("storm of 1000"), [("0.995 round trips", "yes"); 4]);
    // The more work, the further down: (e) has more than (a) here.
    let work = judged("storm: the server's TLS work, (e) X25519 psk_ke to (a) X25519MLKEM768");
    assert_eq!(work.len(), 1);
    assert_eq!(work[0].1, "no");
    assert_eq!(judged("growth"), [("1.000 (1.000 to 1.000)", "yes"); 15]);
    // (e) works 100 + 10 · 10 µs twice, (d) 100 + 10 · 5: on the link that is next to nothing.
    let near = judged("seoul-tokyo: the response of (e)");
    assert_eq!(near.len(), 2);
    assert_eq!((near[0].1, near[1].1), ("yes", "–"));
    let ratios = [0, 1].map(|row: usize| near[row].0.trim_end_matches('×').parse::<f64>().unwrap());
    assert!(ratios[0] < 1.01 && ratios[1] > 1.2, "{ratios:?}");
}

#[test]
fn the_vault_of_a_storm_is_counted_by_the_ticket() {
    let mut report = load();
    let vault = |report: &Value| {
        let inputs = Inputs::of(None, Some(&report.to_string()), None).unwrap();
        let all = tables::all(&inputs);
        let storm = all.into_iter().find(|(name, _)| *name == "storm").unwrap().1.unwrap();
        assert_eq!(storm.columns.last().unwrap(), "vault, bytes a ticket");
        row(&storm, "(b) PSK only: 1000").last().unwrap().to_string()
    };
    // 77 bytes of 7 tickets.
    assert_eq!(vault(&report), "11");
    for cell in report["cells"].as_array_mut().unwrap() {
        cell["tickets"] = json!(0);
    }
    assert_eq!(vault(&report), "–");
}

/// Nobody takes the largest of a few for what one in a thousand exceeds.
#[test]
fn a_quantile_is_shown_where_there_are_samples_enough() {
    // A hundred samples each: 99 of 335 ms, one of twice that.
    let users = table("load");
    let first = row(&users, "(a) full handshake, X25519: 10")[4].to_owned();
    let shown: Vec<_> = first.split(" / ").collect();
    assert_eq!(shown.len(), 4, "{first}");
    assert_eq!(shown[2], "–");
    let ms = [0, 1, 3].map(|at: usize| shown[at].parse::<f64>().unwrap());
    assert!(ms[0] == ms[1] && (1.98..2.02).contains(&(ms[2] / ms[0])), "{first}");
    for (name, column) in [("loss", "median and the longest"), ("seoul-tokyo", "longest")] {
        let table = table(name);
        let words = table.caption + &table.columns.join(" ");
        assert!(words.contains(column) && !words.contains("p99"), "{words}");
    }
}

#[test]
fn an_option_pays_as_the_break_even_says() {
    let table = table("break-even");
    // (e) psk_ke beside (a): a round trip of 134 ms sooner; and each ticket costs 40 µs of work.
    let cells = row(&table, "(e) 0-RTT FS, X25519, psk_ke beside (a) full handshake, X25519");
    let gain: f64 = cells[0].parse().unwrap();
    assert!((133.0..134.0).contains(&gain), "{gain}");
    assert_ne!(cells[2], "never");
    assert!(table.rows.iter().all(|row| !row.name.starts_with("(a)")));
}

/// What the report says of its own flows doesn't count.
#[test]
fn the_confusion_of_options_is_made_from_the_flows() {
    let confusion = table("confusion");
    assert_eq!(confusion.columns, ["flows of", "taken for (a)", "taken for (e)"]);
    assert_eq!(row(&confusion, "(a), both, 33 ms, not padded"), ["10", "0"]);
    assert_eq!(row(&confusion, "(e), both, 33 ms, padded to 512"), ["0", "10"]);
    assert_eq!(row(&table("traffic"), "times, 33 ms, not padded")[2], "50.0 %");
    assert_eq!(row(&table("padding"), "(e), padded to 512")[1..], ["900", "2000", "50.00"]);
}

#[test]
fn what_was_not_run_is_said_and_by_how_much() {
    let table = table("not-run");
    assert_eq!(row(&table, "no program etcd | here"), ["1", ""]);
    let cells = roaming()["cells"].as_array().unwrap().len().to_string();
    assert_eq!(row(&table, "reset"), ["", cells.as_str()]);
}

#[test]
fn the_page_has_every_table_and_no_script_of_a_report() {
    let inputs = inputs();
    let page = page::render(&inputs, &tables::all(&inputs));
    for (name, _) in tables::all(&inputs) {
        assert!(page.contains(&format!("data-row=\"{name}/0\"")), "{name}");
    }
    assert!(page.contains("href=\"roaming.json\""));
    assert!(!page.contains("NaN"));
    for figure in [
        "Sending and receiving, in one process",
        "seoul-tokyo: 33 ms",
        "Losses in bursts",
        "Congestion",
        "Through two SEPPs: seoul-tokyo",
        "Memory of a resumed connection (Fig. 10)",
        "A registration after coming back, by users",
        "How many flows are told right",
    ] {
        assert!(page.contains(figure), "{figure}");
    }
    let empty = page::render(&Inputs::default(), &tables::all(&Inputs::default()));
    assert!(empty.contains("table-5: not recorded yet") && !empty.contains("<figure>"));
}

#[test]
fn a_report_that_is_none_is_named() {
    let wrong = Inputs::of(Some("{}"), None, None);
    let (name, what) = wrong.err().unwrap();
    assert_eq!(name, "roaming.json");
    assert!(what.contains("missing field"), "{what}");
    assert_eq!(Inputs::default().missing().count(), 3);
}
