//! Tables of reports whose numbers are known.

use serde_json::{Value, json};
use tessera_reports::Machine;

use super::input::Inputs;
use super::{TABLES, all};
use crate::bithac::report::{CellName, End, Instructions, Memory, Part, Peak, Report, Work};
use crate::bithac::{CertificateWay, Certificates, samples};
use crate::table::Table;
use crate::wired::LinkName;

/// Returns how many bytes of handshake the client of a way sends; the server twice as many.
fn bytes(way: CertificateWay) -> u64 {
    match way {
        CertificateWay::Full => 1000,
        CertificateWay::CachedFirst => 1005,
        CertificateWay::CachedMiss => 1012,
        CertificateWay::Zlib => 900,
        CertificateWay::RawKeys => 400,
        CertificateWay::ZeroRttFs => 300,
        CertificateWay::Rfc7924 => 640,
        CertificateWay::PaperMiss => 1030,
        _ => 250,
    }
}

fn report() -> Report {
    let mut cells = Vec::new();
    let mut work = Vec::new();
    let mut memory = Vec::new();
    let mut datagrams = Vec::new();
    let shown = CertificateWay::ALL.into_iter().filter(|way| *way != CertificateWay::Known);
    let plain = |mtu| LinkName { rtt_ms: 0.0, rate_bps: None, mtu, loss: 0.0 };
    let slow = LinkName { rtt_ms: 100.0, rate_bps: Some(100_000), mtu: 1500, loss: 0.0 };
    let losing = LinkName { rtt_ms: 50.0, rate_bps: Some(1_000_000), mtu: 576, loss: 0.01 };
    for certificates in Certificates::ALL {
        for way in shown.clone() {
            for (part, link) in [
                (Part::Bytes, plain(1500)),
                (Part::Bytes, plain(576)),
                (Part::Bytes, plain(127)),
                (Part::Times, slow.clone()),
                (Part::Losses, losing.clone()),
            ] {
                let mut cell = samples::cell(part, if part == Part::Bytes { 1 } else { 7 });
                cell.name = CellName { part, way, certificates, link };
                for sample in &mut cell.samples {
                    *sample = samples::sample(bytes(way), 2 * bytes(way));
                    sample.response_us = 100.0 * bytes(way) as f64;
                }
                cells.push(cell);
            }
            for (loss, samples) in [(0.0, 1), (0.05, 9)] {
                let mut cell = samples::datagrams(loss, samples);
                (cell.name.way, cell.name.certificates) = (way, certificates);
                if way != CertificateWay::Full {
                    cell.samples.server_bytes = vec![500; samples];
                }
                datagrams.push(cell);
            }
        }
        for way in CertificateWay::ALL.into_iter().filter(|way| !way.name().contains("0rtt")) {
            for chain in 1..=4 {
                let us = if way == CertificateWay::Full { 200.0 } else { 120.0 };
                let checks = if way == CertificateWay::Full { chain as u64 + 1 } else { 1 };
                work.push(Work {
                    way,
                    certificates,
                    chain,
                    client_verifications: checks,
                    client_us: vec![us; 9],
                    server_us: vec![us; 9],
                    ..samples::work()
                });
            }
        }
        for (way, end) in
            [(CertificateWay::Known, End::Client), (CertificateWay::Cached, End::Server)]
        {
            memory.push(Memory { way, certificates, end, ..samples::memory() });
        }
    }
    datagrams.sort_by(|a, b| a.name.link.loss.total_cmp(&b.name.link.loss));
    cells[0].why_failed.insert("reset | here".to_owned(), 2);
    Report {
        experiment: "bithac".to_owned(),
        seed: 7,
        machine: Machine { cpu: "a processor".to_owned(), cores: 2, kernel: "Linux".to_owned() },
        revision: Some("abc".to_owned()),
        link: Some("tun".to_owned()),
        chains: vec![crate::bithac::report::Chains {
            certificates: Certificates::Rsa2048,
            client: vec![500, 400],
            server: vec![510, 410],
        }],
        cells,
        work,
        hits: [None, Some(100), Some(90), Some(50), Some(0)].map(samples::hits).to_vec(),
        memory,
        peaks: vec![
            samples::peak(),
            Peak { way: CertificateWay::CachedFirst, client: 10_344, ..samples::peak() },
            Peak { way: CertificateWay::Cached, client: 9_000, ..samples::peak() },
        ],
        many: vec![samples::many()],
        datagrams_revision: Some("ghi".to_owned()),
        datagrams,
    }
}

fn tls12() -> Value {
    json!({
        "experiment": "tls12", "revision": "def", "runs": 10,
        "machine": { "cpu": "another", "cores": 2, "kernel": "Linux" },
        "paper": [{ "id": "B3", "what": "BiTHaC, rsa2048", "paper": "-56.75..-61.14 %", "here": "-62.43..-65.43 %" }],
        "cells": [{}, {}]
    })
}

fn inputs() -> Inputs {
    let report = serde_json::to_string(&report()).unwrap();
    Inputs::of(Some(&report), Some(&tls12().to_string()))
        .unwrap_or_else(|(name, what)| panic!("{name}: {what}"))
}

fn table(name: &str) -> Table {
    let (_, table) = all(&inputs()).into_iter().find(|(known, _)| *known == name).unwrap();
    table.unwrap()
}

#[test]
fn every_table_is_made_of_whole_reports_and_none_of_nothing() {
    for (name, table) in all(&inputs()) {
        let table = table.unwrap_or_else(|| panic!("no table {name}"));
        let width = table.columns.len();
        assert!(!table.rows.is_empty() || name == "uncounted", "{name}");
        assert!(table.rows.iter().all(|row| row.cells.len() + table.names == width), "{name}");
    }
    let nothing = all(&Inputs::default());
    assert_eq!(nothing.len(), TABLES.len());
    for (name, table) in nothing {
        assert_eq!(table, None, "{name}");
    }
}

#[test]
fn a_target_is_reached_according_to_the_samples() {
    let table = table("targets");
    assert_eq!(table.texts("TLS, rsa-2048: cached"), ["0.250", "at most 0.270", "yes"]);
    assert_eq!(table.texts("TLS, rsa-4096: cached"), ["0.250", "at most 0.250", "yes"]);
    assert_eq!(
        table.texts("TLS, ml-dsa-65: cached, below raw public keys"),
        ["750 B", "at most 1,200 B", "yes"]
    );
    assert_eq!(
        table.texts("TLS: a miss, beyond a full one, the worst"),
        ["36 B", "at most 40 B", "yes"]
    );
    let slow = "response at 100 kbit/s, RTT 100 ms, ml-dsa-65: cached";
    assert_eq!(table.texts(slow), ["0.250", "at most 0.450", "yes"]);
    let cpu = "the client's processor time, p-256, chain of 3: cached";
    assert_eq!(table.texts(cpu), ["0.600", "at most 0.650", "yes"]);
    let ip = "IP+TCP, rsa-2048, MTU 127: cached (at least -61.1 %)";
    assert_eq!(table.texts(ip), ["0.454", "at most 0.389", "no"]);
}

#[test]
fn the_papers_numbers_are_next_to_those_of_both_versions_of_tls() {
    let table = table("paper");
    let of_tls12 = table.texts("B3: BiTHaC, rsa2048");
    assert_eq!(of_tls12, ["-56.75..-61.14 %", "-62.43..-65.43 %", "TLS 1.2"]);
    let cached = table.texts("B3: cached, p-256, IP+TCP+TLS");
    assert_eq!(cached, ["–", "-54.56..-54.56 %", "TLS 1.3"]);
    let share = table.texts("B11: both Certificates, rsa-2048, chains of two");
    assert_eq!(share[1], "60.7 % of the handshake");
    let work = table.texts("B8: the client's processor time, p-256, chain of 3");
    assert_eq!(work[1], "-40.0 %, 80 µs, 3 checks skipped");
    let peak = table.texts("B10: peak of memory, the client, p-256, chains of 3");
    assert_eq!(peak, ["–", "+3.44 % first, -10.00 % later", "TLS 1.3"]);
    let names = table.rows.iter().map(|row| row.names[0].words());
    let order: Vec<_> = names.map(|name| name.split(':').next().unwrap().to_owned()).collect();
    let number = |name: &String| name[1..].parse::<u8>().unwrap();
    assert!(order.is_sorted_by_key(number), "{order:?}");
}

#[test]
fn the_answers_are_the_rows_with_a_number_of_the_paper() {
    let (all, answers) = (table("paper"), table("answers"));
    let with_number = all.rows.iter().filter(|row| row.cells[0].text() != "–");
    assert_eq!(with_number.cloned().collect::<Vec<_>>(), answers.rows);
    assert!(answers.rows.len() > 5 && answers.rows.len() < all.rows.len());
}

#[test]
fn both_ends_have_rows_of_their_own_and_the_server_its_many_clients() {
    let ends = table("ends");
    assert_eq!(ends.texts("p-256, 3, server"), ["200.0", "120.0 (0.600)", "120.0 (0.600)", "0"]);
    assert_eq!(ends.texts("p-256, 3, client")[3], "3");
    let work = table("work").texts("full, p-256, chain of 3");
    assert_eq!(
        (work[3].as_str(), &work[6..]),
        ("1.000", &["1,200,000", "1,100,000"].map(String::from)[..])
    );
    let server = "B8: the server's processor time, p-256, chain of 4";
    assert_eq!(table("paper").texts(server)[1], "-40.0 %, 80 µs, 0 checks skipped");
    let many = table("many");
    let cells = many.texts("certificates, p-256, clients: 1,000,000");
    assert_eq!(cells[..5], ["467", "575,300,000", "575,310,000", "575.3", "63.3"]);
    let looked_up =
        "a server with clients, 1,000,000 of p-256, certificates: two tickets looked up";
    assert_eq!(table("targets").texts(looked_up), ["600 ns", "at most 1,000 ns", "yes"]);
    assert_eq!(table("fullest").texts("known, p-256, client"), ["9,107", "9,807", "15,407"]);
}

#[test]
fn rows_state_that_nothing_counts_instructions() {
    let mut report = report();
    let why = "the kernel counts no instructions: no such counter";
    report.work[0].instructions = Some(Instructions::Uncounted(why.to_owned()));
    let inputs = Inputs::of(Some(&serde_json::to_string(&report).unwrap()), None);
    let tables = all(&inputs.unwrap_or_else(|(name, what)| panic!("{name}: {what}")));
    let table = |name| tables.iter().find(|it| it.0 == name).unwrap().1.clone().unwrap();
    assert_eq!(
        table("work").texts("full, rsa-2048, chain of 1")[6..],
        ["no counter", "no counter"]
    );
    assert_eq!(table("uncounted").texts("of both ends"), [why]);
}

#[test]
fn bytes_are_shown_with_their_share_of_the_full_handshake() {
    assert_eq!(
        table("tls").texts("p-256")[..4],
        ["3,000", "2,700 (0.900)", "1,920 (0.640)", "750 (0.250)"]
    );
    assert_eq!(table("ip").texts("p-256, 576")[0], "4,124");
    let directions = table("directions");
    assert_eq!(
        directions.texts("p-256, full"),
        ["Certificate", "1,000", "1,062", "1,562", "9", "2,000", "2,062", "2,562", "9"]
    );
    assert_eq!(
        directions.texts("p-256, paper-miss")[..2],
        ["paper (cached_info, BiTHaC)", "1,030"]
    );
    assert_eq!(table("ways").texts("cached"), ["rfc8879 (ids, tickets)"]);
    assert_eq!(table("chains").texts("rsa-2048"), ["500 + 400", "510 + 410"]);
    assert_eq!(table("losses").texts("p-256, 1 %, 576")[0], "100.0 (4,124)");
    let failed = table("failed");
    assert_eq!(failed.texts("bytes/full/rsa-2048/any/0ms/1500/0: reset | here"), ["2"]);
}

#[test]
fn handshakes_over_datagrams_are_shown_by_way_with_their_worst() {
    let bytes = table("datagrams").texts("p-256, 5 %, 127");
    assert_eq!((&*bytes[0], &*bytes[6]), ("7,000", "3,500 (0.500)"));
    assert_eq!(table("datagram-packets").texts("p-256, 0 %, 127")[0], "70");
    let times = table("datagram-times");
    assert_eq!(times.texts("p-256, 0 %, 127")[0], "200");
    assert_eq!(times.texts("p-256, 5 %, 127")[0], "200 (200)");
    assert_eq!(table("datagrams-resent").texts("p-256, 5 %, 127")[0], "60 (60)");
    let directions = table("datagram-directions").texts("p-256, cached, 127");
    assert_eq!(directions, ["3,000", "30", "500", "40"]);
    assert_eq!(table("setting").texts("its datagrams")[1..3], ["ghi", "virtual"]);
}

#[test]
fn a_report_that_no_run_writes_is_refused() {
    let refused = |change: fn(&mut Value)| {
        let mut value = serde_json::to_value(report()).unwrap();
        change(&mut value);
        let (name, what) = Inputs::of(Some(&value.to_string()), None).err().unwrap();
        assert_eq!(name, "bithac.json");
        what
    };
    assert!(refused(|it| it["experiment"] = json!("load")).contains("`load`"));
    assert!(refused(|it| it["many"][0]["held"] = json!(0)).contains("holds 0 bytes"));
    assert!(refused(|it| it["cells"][1]["samples"] = json!([])).contains("no sample"));
    let twice = refused(|it| {
        let cell = it["cells"][0].clone();
        it["cells"].as_array_mut().unwrap().push(cell);
    });
    assert!(twice.contains("occurs twice"), "{twice}");
}
