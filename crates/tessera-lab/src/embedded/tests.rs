//! The report as it is shown, and documents that no run writes.

use serde_json::{Value, json};

use super::report::Report;
use super::{page, summary, tables};
use crate::table::{markdown, terminal};

/// A document of two images.
fn document() -> Value {
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
    let tables = tables(&report());
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
        "published by others 61.0; KB",
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
