//! Reports whose numbers are known.

use serde_json::{Value, json};
use tessera_link::{LinkKind, LinkParameters};
use tessera_reports::{Mode, Store, Suite, Variant};

use crate::experiment::link_report;
use crate::sepp_pair::SeppOption;
use crate::topology;
use crate::variants;
use crate::ways::Way;

/// Returns how long option number `index` takes, in µs, beyond its link: different for each option.
fn work_us(index: usize) -> f64 {
    100.0 + 10.0 * index as f64
}

fn cell(variant: &Variant, index: usize, through: &str, link: Value) -> Value {
    let rtt_us = link["rtt_ms"].as_f64().unwrap() * 1e3;
    let work = work_us(index);
    // Early data saves a round trip.
    let early = variant.mode.has_early_data();
    let first = rtt_us * if early { 1.5 } else { 2.5 } + work;
    let nine = |us: f64| [us; 9];
    let around = |us: f64| (0..9).map(|i| us + f64::from(i - 4)).collect::<Vec<_>>();
    let samples = json!({
        "send_us": around(work), "receive_us": nine(2.0 * work), "tcp_us": nine(rtt_us),
        "first_byte_us": around(first), "handshake_us": nine(2.0 * rtt_us + work),
        "response_us": around(first + rtt_us / 2.0 + work), "client_engine_us": nine(40.0),
        "server_engine_us": nine(60.0), "client_cpu_us": nine(50.0), "server_cpu_us": nine(work)
    });
    let (failed, why) = match link["loss"].as_f64() {
        Some(loss) if loss > 0.0 => (1, json!({ "reset": 1 })),
        _ => (0, json!({})),
    };
    let mut cell = json!({
        "through": through, "link": link, "samples": samples, "failed": failed, "why_failed": why,
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

pub(super) fn usual() -> Vec<Variant> {
    let is_usual = |variant: &Variant| {
        variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
    };
    variants::all().into_iter().filter(is_usual).collect()
}

pub(super) fn roaming() -> Value {
    let mut cells = Vec::new();
    for (index, variant) in variants::all().iter().enumerate() {
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
    for (index, variant) in variants::all().iter().enumerate() {
        if SeppOption::is_nearest(variant) {
            cells.push(cell(variant, index, "sepp", link("seoul-tokyo", 33.0, 0.0, 1.0, 0.0)));
        }
    }
    let mut not_run = json!({
        "through": "engine", "link": link("371ms", 371.0, 0.0, 1.0, 0.0), "reason": "no program etcd | here"
    });
    flatten(&mut not_run, &variants::all()[0]);
    json!({
        "experiment": "roaming", "seed": 7, "machine": machine(), "revision": "abc", "link": "tun",
        "cells": cells, "not_run": [not_run]
    })
}

pub(super) fn load() -> Value {
    let mut cells = Vec::new();
    let mut memory = Vec::new();
    for (index, variant) in usual().iter().enumerate() {
        for (kind, users, reconnections) in
            [("users", 1, 20), ("users", 10, 20), ("users", 100, 20), ("storm", 1000, 1)]
        {
            let early = variant.mode.has_early_data();
            let first = if early { 201_000.0 } else { 335_000.0 };
            let asked = users * reconnections;
            let late = asked / 100;
            let (registrations, exchanges) = if kind == "users" { (asked, 13) } else { (0, 1) };
            let mut cell = json!({
                "kind": kind, "users": users, "rtt_ms": 134.0, "reconnections": reconnections, "failed": 0,
                "why_failed": {}, "requests": asked * exchanges, "seconds": 2.0, "requests_per_second": 123456.0,
                "first_accepted_us": [[first, asked - late], [2.0 * first, late]],
                "response_us": [[first, asked]], "registration_us": [[9000.0, registrations]], "server_cpu_us_per_connection": 300.0,
                "server_tls_us_per_connection": work_us(index), "client_cpu_us_per_connection": 200.0,
                "server_memory_bytes": 5000, "vault_bytes": 77, "tickets": 7
            });
            flatten(&mut cell, variant);
            cells.push(cell);
        }
        for (connection, side) in [("new", "client"), ("new", "server"), ("resumed", "client")] {
            let components = |rest| {
                json!({
                    "certificates": 10, "key_exchange": 20, "signature": 1, "tickets_and_replay_state": 2,
                    "buffers": 3, "rest": rest
                })
            };
            let mut row = json!({
                "connection": connection, "side": side, "components": components(30), "total": 66,
                "peak": { "components": components(14), "total": 50 },
                "held": { "components": components(4), "total": 40 }, "vault_bytes": 5
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

pub(super) fn traffic() -> Value {
    let mut flows = Vec::new();
    for option in [Mode::Full, Mode::ZeroRttFs] {
        let variant = Way::all(&[option])[0].variant(Suite::default(), Store::default());
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
    let link = link_report(LinkKind::Tun, &LinkParameters::default());
    json!({
        "experiment": "traffic", "seed": 9, "machine": machine(), "link": link, "flows": flows,
        "confusion": { "folds": 1, "tables": [] }, "costs": []
    })
}
