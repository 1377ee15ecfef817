//! `docs/results/roaming.md` and what makes its tables.
#![cfg(feature = "lab")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tessera_test_peers::Directory;
use tessera_test_peers::chromium;

fn results(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "results"])
        .args(arguments)
        .output()
        .expect("starts")
}

/// The reports and the text that are committed.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

fn text() -> String {
    fs::read_to_string(committed().join("roaming.md")).expect("the text")
}

/// Every number between marks, and on the page beside the text, is made from the reports: made again, nothing changes.
/// Numbers without their report would change into words.
#[test]
fn the_tables_of_the_results_are_those_of_the_reports() {
    let reports = committed();
    let has_numbers = text().replace(NOT_RECORDED, "").contains("\n<!-- end of table -->");
    let has_page = reports.join("roaming.html").exists();
    if !has_numbers && !has_page {
        assert!(text().matches(NOT_RECORDED).count() > 20, "the tables have their places");
        return;
    }
    let directory = Directory::new();
    let copies = [directory.write("roaming.md", text()), directory.path("roaming.html")];
    let path = reports.to_str().expect("a path");
    let output = results(&[path, "--markdown", &copies[0], "--page", &copies[1]]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = ["roaming.md", "roaming.html"];
    for (copy, of) in copies.iter().zip(files).take(1 + usize::from(has_page)) {
        let [made, kept] = [PathBuf::from(copy), reports.join(of)]
            .map(|path| fs::read_to_string(path).expect("a text"));
        for (number, (made, kept)) in made.lines().zip(kept.lines()).enumerate() {
            assert_eq!(kept, made, "line {} of docs/results/{of}", number + 1);
        }
        assert_eq!(made.len(), kept.len(), "{of}");
    }
}

/// The same of the paper on caching handshakes.
#[test]
fn the_tables_of_cached_handshakes_are_those_of_the_reports() {
    let reports = committed();
    let kept = fs::read_to_string(reports.join("bithac.md")).expect("the text");
    let has_numbers = kept.replace(NOT_RECORDED, "").contains("\n<!-- end of table -->");
    if !has_numbers {
        assert!(kept.matches(NOT_RECORDED).count() > 10, "the tables have their places");
        return;
    }
    let directory = Directory::new();
    let copy = directory.write("bithac.md", &kept);
    let path = reports.to_str().expect("a path");
    let output = results(&[path, "--of", "bithac", "--markdown", &copy]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made = fs::read_to_string(&copy).expect("a text");
    for (number, (made, kept)) in made.lines().zip(kept.lines()).enumerate() {
        assert_eq!(kept, made, "line {} of docs/results/bithac.md", number + 1);
    }
    assert_eq!(made.len(), kept.len());
}

/// What stands between the marks of a table that has no report.
const NOT_RECORDED: &str = " -->\nnot recorded yet\n<!-- end of table -->";

#[test]
fn each_weak_point_is_answered_once() {
    let text = text();
    for point in 1..=21 {
        assert_eq!(text.matches(&format!("\n| W{point} | ")).count(), 1, "W{point}");
    }
}

/// What the text points to is there.
#[test]
fn the_links_of_the_results_lead_somewhere() {
    let text = text();
    let mut links = 0;
    for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let file = target.split('#').next().expect("a target");
        // The page and the reports are made by `make results`.
        if !file.starts_with("http") && file.contains("..") {
            assert!(committed().join(file).exists(), "{target}");
            links += 1;
        }
    }
    assert!(links > 10, "{links}");
}

#[test]
fn directories_and_texts_that_cannot_be_are_refused() {
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = results(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    };
    let directory = Directory::new();
    let path = directory.path("");
    refused(&["/nowhere", "--page", "-"], &["/nowhere", "roaming.json"]);
    // Nothing takes the place of tables that a text has.
    let kept = "<!-- table setting -->\n1,000\n<!-- end of table -->\n";
    let text = directory.write("kept.md", kept);
    refused(&[&path, "--markdown", &text], &["has no report", "roaming.json"]);
    assert_eq!(fs::read_to_string(&text).expect("the text"), kept);

    directory.write("load.json", "{}");
    refused(&[&path], &["load.json is no report of tessera lab", "missing field"]);
    directory.write("load.json", "\u{1b}[31m");
    refused(&[&path], &["load.json is no report of tessera lab"]);
    directory.write("load.json", [0xff_u8, 0xfe]);
    refused(&[&path], &["load.json can't be read"]);
    let load = r#"{ "experiment": "\u001b[31m", "seed": 1, "machine": { "cpu": "x", "cores": 2, "kernel": "y" },
        "revision": null, "link": "tun", "cells": [], "memory": [], "growth": [], "not_run": [] }"#;
    directory.write("load.json", load);
    let stderr = results(&[&path]).stderr;
    assert!(!stderr.contains(&0x1b), "a terminal obeys no report");
    directory.write("load.json", load.replace("\\u001b[31m", "load"));
    let unmarked = directory.write("empty.md", "No marks.\n");
    refused(&[&path, "--markdown", &unmarked], &["empty.md", "<!-- table setting -->"]);
    refused(&[&path, "--markdown", "/nowhere.md"], &["/nowhere.md"]);
    // A page of one report leads to no other.
    let page = directory.path("page.html");
    let output = results(&[&path, "--page", &page]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("href=\"load.json\""));
    assert!(!page.contains("href=\"roaming.") && !page.contains("href=\"traffic."));
}

/// The page of a real report, in a browser: as wide as its room, on a phone too, and without a complaint.
#[test]
fn a_browser_shows_the_page_of_the_results_on_a_phone_too() {
    const MEASURE: &str =
        "<script>document.body.dataset.width = document.body.scrollWidth;</script></body>";
    let directory = Directory::new();
    let [json, page] = ["roaming.json", "roaming.html"].map(|name| directory.path(name));
    let cells = "through=engine,option=a|d,kx=x25519,suite=0x1302";
    let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "roaming", "--link", "loopback", "--repetitions", "7"])
        .args(["--cells", cells, "--json", &json])
        .output()
        .expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = results(&[&directory.path(""), "--page", &page]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    for missing in ["load.json", "traffic.json"] {
        assert!(stderr.contains(&format!("{missing} is missing")), "{stderr}");
    }

    let shown = chromium::show(&format!("file://{page}"), 1280);
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    for row in ["table-5/0", "table-5/1", "engine/1"] {
        assert_eq!(shown.dom.matches(&format!("data-row=\"{row}\"")).count(), 1, "{row}");
    }
    // (d) is its own baseline.
    assert!(shown.dom.contains(">1.00×</td>"));
    assert!(shown.dom.contains("data-table=\"storm\""), "what isn't recorded is said");
    assert!(shown.dom.contains("<caption>Engine: "), "a table has words for its caption");
    let html = fs::read_to_string(&page).expect("the page");
    for (window, room) in [(500, 340), (960, 920)] {
        let style = format!("<style>html{{width:{room}px}}</style></head>");
        let narrow = html.replace("</head>", &style).replace("</body>", MEASURE);
        let page = directory.write("narrow.html", narrow);
        let dom = chromium::show(&format!("file://{page}"), window).dom;
        let width = dom.split("data-width=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(width, Some(room.to_string().as_str()), "of {room}");
    }
}
