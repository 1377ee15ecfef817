//! The report as it is shown, and documents that no run writes.

use serde_json::{Value, json};

use super::report::Report;
use super::{page, sample, summary, tables};
use crate::table::{markdown, terminal};

/// A document of two images.
pub(super) fn document() -> Value {
    let end = |stack: u32, messages: Value| {
        json!({
            "stack": stack, "heap": 2504, "needed": 6863, "kept": 288, "allocations": 30, "instructions": 4_346_764, "sent": 298,
            "buffers": 2309, "messages": messages,
        })
    };
    let client = |stack, sections: Value, crates: Value| {
        let messages = json!([{ "message": "ClientHello", "instructions": 1_900_000, "stack": 4100, "heap": 1800 }]);
        let mut client = end(stack, messages);
        let text = sections[".text"].as_u64().unwrap() + sections[".rodata"].as_u64().unwrap();
        client["flash"] = text.into();
        client["sections"] = sections;
        client["crates"] = crates;
        client
    };
    let psk = client(
        5944,
        json!({ ".text": 50_148, ".rodata": 1764, ".data": 4, ".bss": 65_560 }),
        json!({ "tessera": 26_370, "sha2": 870, "client": 22_126, "other": 2546 }),
    );
    let p256 = client(
        11_312,
        json!({ ".text": 97_000, ".rodata": 1864, ".data": 4, ".bss": 65_560 }),
        json!({ "tessera": 40_000, "tessera_fixed_pki": 8000, "p256": 48_864, "other": 2000 }),
    );
    let ends = json!({ "client": end(15_000, json!([])), "server": end(16_000, json!([])) });
    json!({
        "experiment": "embedded", "revision": "abc", "compiler": "rustc 1.96.0", "opt_level": "z", "small": true,
        "connections": 20,
        "images": [
            { "image": "psk", "openssl": "connects", "client": psk, "server": end(8688, json!([])) },
            {
                "image": "p256", "openssl": "connects", "client": p256, "server": end(14_000, json!([])),
                "full": ends, "chains": [{ "keys": "p256", "certificates": 2, "full": ends, "cached": ends }],
            },
        ],
        "operations": [{ "operation": "X25519", "instructions": 1_650_000, "stack": 900 }],
    })
}

fn report() -> Report {
    Report::parse(&document().to_string()).unwrap()
}

/// Returns a table as Markdown.
fn of(name: &str) -> String {
    of_report(&report(), name)
}

fn of_report(report: &Report, name: &str) -> String {
    let tables = tables(report);
    let (_, table) = tables.iter().find(|(known, _)| *known == name).unwrap();
    markdown::table(table.as_ref().unwrap())
}

#[test]
fn the_tables_show_sizes_by_crate_and_section_memory_by_message_and_instructions_by_operation() {
    for (name, row) in [
        ("targets", "| psk, flash | 51,912 | 50,000 | **no** |"),
        ("targets", "| psk, RAM (stack, heap, buffers) | 10,757 | 12,000 | yes |"),
        ("targets", "| p256, flash | 98,864 | 110,000 | yes |"),
        ("sizes", "| psk | 51,912 | 50,148 | 1,764 | 4 | 65,560 | connects |"),
        ("crates", "| crate | psk | p256 |"),
        ("crates", "| p256 | – | 48,864 |"),
        ("published", "| Tessera | measured here | 51,912 | 98,864 | – | – | – |"),
        (
            "published",
            "| krabitls 0.6.1 | published by others: Rust, Cortex-M3 | – | 58.5 KiB | – |",
        ),
        (
            "handshakes",
            "| psk, server | 8,688 | 2,504 | 2,309 | 13,501 | 6,863 | 288 | 30 | 4,346,764 | 298 |",
        ),
        ("messages", "| psk, client, ClientHello | 4,100 | 1,800 | 1,900,000 |"),
        ("handshakes", "| p256, at first, client | 15,000 |"),
        (
            "chains",
            "| p256, certificates 2, sent as a hash, server | 16,000 | 2,504 | 4,346,764 | 298 |",
        ),
        ("operations", "| X25519 | 1,650,000 | 900 |"),
    ] {
        assert!(of(name).contains(row), "{row} in {}", of(name));
    }
    assert!(of("crates").find("| p256 |") < of("crates").find("| tessera |"), "the largest first");
}

#[test]
fn crates_are_listed_once_with_the_largest_first() {
    let tables = tables(&report());
    let (_, crates) = tables.iter().find(|(name, _)| *name == "crates").unwrap();
    let shown = terminal::table(crates.as_ref().unwrap());
    let names: Vec<_> = shown.lines().skip(3).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["p256", "tessera", "client", "tessera_fixed_pki", "other", "sha2"]);
}

#[test]
fn the_page_shows_what_clients_take_next_to_what_others_publish() {
    let page = page(&report()).unwrap();
    let [sentence, method] = summary(&report());
    assert!(sentence.contains("51.9 and 10.8 (PSK), 98.9 and 16.1 (P-256 chain)"), "{sentence}");
    assert!(method.contains("rustc 1.96.0") && method.contains("level z"), "{method}");
    for part in [
        "data-way=\"psk/wolfSSL tinytls13\"",
        "PSK, Tessera: engine 26.4, cryptography 0.9, the image, and literals 24.7, to be at most 50; KB",
        "psk: stack 5.9, heap 2.5, buffers for records 2.3, to be at most 12; KB",
        "published by others 61.3; KB",
        "\"experiment\":\"embedded\"",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn an_image_that_is_not_known_has_no_bound_and_no_others() {
    let mut document = document();
    document["images"][0]["image"] = "<b>".into();
    let report = Report::parse(&document.to_string()).unwrap();
    let page = page(&report).unwrap();
    assert!(!page.contains("<b>") && page.contains("&lt;b&gt;"), "{page}");
    assert!(!page.contains("psk/") && page.contains("p256/wolfSSL"), "{page}");
}

#[test]
fn a_document_that_no_run_writes_is_refused() {
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut document = document();
        change(&mut document);
        let what = Report::parse(&document.to_string()).err().unwrap();
        assert!(what.contains(words), "{what}");
    };
    let set = |at: &'static str, value: Value| {
        move |document: &mut Value| {
            *document.pointer_mut(at).unwrap() = value.clone();
        }
    };
    refused(&set("/experiment", "edge".into()), "of the experiment `edge`");
    refused(&set("/images", json!([])), "no image");
    refused(&set("/images/1/image", "psk".into()), "the images have psk twice");
    refused(&set("/images/0/image", "\u{1b}[2J".into()), "can't be printed");
    refused(&set("/images/0/client/flash", 1.into()), "psk: .text and .rodata are 51912 bytes");
    refused(&set("/images/0/client/crates/sha2", 871.into()), "psk: the crates are 51913 bytes");
    refused(&set("/images/0/client/stack", (-1).into()), "invalid value");
    let without = |name: &'static str| {
        move |document: &mut Value| {
            document["images"][0]["client"].as_object_mut().unwrap().remove(name);
        }
    };
    for field in ["crates", "heap", "buffers", "flash"] {
        refused(&without(field), &format!("missing field `{field}`"));
    }
    assert!(Report::parse("").is_err());
}

#[test]
fn suites_that_no_run_writes_are_refused() {
    let refused = |at: &str, value: Value, words: &str| {
        let mut document = sample::with_suites(document());
        *document.pointer_mut(at).unwrap() = value;
        let what = Report::parse(&document.to_string()).err().unwrap();
        assert!(what.contains(words), "{what}");
    };
    let row = |rest: &str| format!("/suites/0/rows/0/{rest}");
    refused("/suites/1/opt_level", "3".into(), "the suites have 3 twice");
    refused(&row("leaf"), "\u{1b}[2J".into(), "can't be printed");
    refused(&row("leaf"), "x".repeat(49).into(), "a name of more than 48 bytes");
    refused(
        "/suites/0/rows/2/leaf",
        "Falcon-512".into(),
        "have ML-KEM-512, Falcon-512, Falcon-512, server twice",
    );
    refused("/kems/1/operation", "key pair".into(), "the KEMs have tessera-kem, 3, ML-KEM-512");
    refused(&row("steps"), json!([]), "step 2 is none of the client's");
    refused(&row("explicit_step"), 3.into(), "X25519 / Ed25519 / Ed25519: step 3 is none");
    refused(&row("first_data_step"), 1.into(), "step 1 is none of the client's");
    refused(&row("explicit_step"), 0.into(), "first data is after step 2");
    refused(&row("steps/0/read"), 1.into(), "doesn't begin with the client's start");
    refused(&row("steps/1/read"), 251.into(), "step 1 reads more than was sent");
    refused(&row("steps/2/sent"), 59.into(), "its steps send [309, 720] bytes");
    refused(&row("server/sent"), 721.into(), "its steps send [310, 720] bytes");
    refused(&row("explicit/proof"), u64::MAX.into(), "its parts have more instructions");
    refused(&row("first_data/instructions"), 6_600_000.into(), "its parts have more instructions");
    refused(&row("steps/0/side"), "peer".into(), "unknown variant `peer`");
}

#[test]
fn a_document_of_before_has_no_suites_and_stays_as_it_is() {
    let again = serde_json::to_value(report()).unwrap();
    assert!(again.get("suites").is_none() && again.get("kems").is_none(), "{again}");
    let with = serde_json::to_value(sample::report()).unwrap();
    let written = sample::with_suites(document());
    assert_eq!([&with["suites"], &with["kems"]], [&written["suites"], &written["kems"]]);
}

/// The figures are those of the sample, in which nothing was measured.
#[test]
fn suites_are_shown_by_both_metrics_next_to_the_thesis() {
    let report = sample::report();
    for (name, row) in [
        (
            "suites",
            "| one-time ML-KEM-512, CA Falcon-512, leaf ML-KEM-512, server | 3,320,000 | 0.474 | 3,490,000 | 0.499 | – | – | \
             1,060 | 3,580 | 3,400 | 14,000 |",
        ),
        (
            "suites",
            "| X25519, CA Ed25519, leaf Ed25519, server | 7,000,000 | 1.000 | 7,000,000 | 1.000 | 7,660,000 | 7,660,000 |",
        ),
        ("suites", "| ML-KEM-768, leaf ML-KEM-768, known key | 3,730,000 | 0.533 | 3,730,000 |"),
        ("times", "| X25519, CA Ed25519, leaf Ed25519, server | 66.4 | 1.000 | 66.4 | 1.000 |"),
        (
            "parts",
            "| ML-KEM-512, CA Falcon-512, leaf ML-KEM-512, server, to explicit authentication | 1.400 | 1.300 | 0.700 | 0.550 | \
             0.140 |",
        ),
        (
            "thesis",
            "| one-time ML-KEM-512, CA Falcon-512, leaf ML-KEM-512, server | 84.17 | 0.656 |",
        ),
        (
            "thesis",
            "| HQC-128, CA SPHINCS+-128s, leaf HQC-128, server | 2,928.46 | 22.807 | left out |",
        ),
        ("thesis", "| P-256, CA RSA-2048, leaf RSA-2048, server | 484.22 | 3.771 | – | – |"),
        ("links", "| 20 kbit/s, RTT 600 ms |"),
        ("links-256", "packets of up to 256 bytes"),
        ("energy", "| X25519, CA Ed25519, leaf Ed25519, server | 0.54 | 1.000 |"),
    ] {
        let made = of_report(&report, name);
        assert!(made.contains(row), "{row} in {made}");
    }
    let links = of_report(&report, "links");
    assert_eq!(links.matches(" ms |").count(), 20, "{links}");
}

#[test]
fn claims_and_goals_are_computed_from_the_report() {
    let report = sample::report();
    for (name, row) in [
        (
            "claims",
            "| 2: decapsulation takes less | cycles: -63.9, -68.2, -71.6 % | instructions: -75.0 % (ML-KEM-512), -60.0 % \
             (ML-KEM-768) | in part |",
        ),
        ("claims", "| instructions: +8.0 % (ML-KEM-512) | yes |"),
        (
            "claims",
            "instructions: -42.9 % (one-time ML-KEM-512 / Falcon-512 / ML-KEM-512), -42.9 %",
        ),
        ("claims", "bytes of the chain: -5.6 % (ML-KEM-512 / Falcon-512 / ML-KEM-512), -6.2 %"),
        ("claims", "in this run 20 for each image"),
        (
            "claims",
            "| 14: HQC and SPHINCS+ are impractical online | time: 1.3 to 13 s | left out | – |",
        ),
        ("goals", "of X25519, raw key Ed25519 | 0.876 | 1.000 | yes |"),
        (
            "goals",
            "| stack of ML-KEM-768, the most of its operations, in bytes | 11,500 | 12,000 | yes |",
        ),
        (
            "goals",
            "| ML-KEM-512, the worst of its operations, of libcrux | 1.200 | 1.100 | **no** |",
        ),
        ("goals", "| decapsulation, one-time, of ML-KEM-768 | -60.0 % | -68.0 % | **no** |"),
        ("goals", "| stack of decapsulation, one-time, of ML-KEM-512 | -55.0 % | -50.0 % | yes |"),
        (
            "kems",
            "| ML-KEM-512, key pair, opt-level 3 | 600,000 | 500,000 | 1.200 | 6,000 | 16,000 |",
        ),
        ("kems", "| ML-KEM-768, decapsulate, opt-level 3 | 1,300,000 | – | – | 11,500 | – |"),
        (
            "one-time-kems",
            "| ML-KEM-512, T_H, decapsulate | 200,000 | -75.0 % | -63.9 % | cycles, Cortex-M33 | 3,600 | 0.45 |",
        ),
    ] {
        let made = of_report(&report, name);
        assert!(made.contains(row), "{row} in {made}");
    }
    let [sentence, _] = summary(&report);
    assert!(sentence.contains("0.66 and 1.05"), "{sentence}");
}

#[test]
fn a_claim_without_its_measurements_is_open() {
    let mut document = sample::with_suites(document());
    document["suites"] = json!([]);
    let made = of_report(&Report::parse(&document.to_string()).unwrap(), "claims");
    assert!(made.contains("explicit authentication | – | – |"), "{made}");
}

#[test]
fn the_page_draws_the_parts_of_suites_and_their_time_over_links() {
    let page = page(&sample::report()).unwrap();
    for part in [
        "X25519, CA Ed25519, leaf Ed25519, server, by both metrics: key exchange 20.8, chain 21.6, proof 10.4, protocol 2.8, AEAD 0.4, \
         link 10.4; ms, modelled",
        "id=\"links\"",
        "data-way=\"1500/20 kbit/s/600\"",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}
