//! `tessera lab embedded`, the program as a user starts it. A script replaces that of a checkout.
#![cfg(feature = "lab")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tessera_test_peers::{Directory, chromium};

fn embedded(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tessera"));
    command.args(["lab", "embedded"]).args(arguments);
    command
}

fn ended(mut command: Command) -> (Output, String) {
    let output = command.output().expect("starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, stderr)
}

/// A document, as `scripts/firmware` writes it.
fn document() -> Value {
    let end = json!({
        "stack": 5944, "heap": 2504, "kept": 288, "allocations": 30, "instructions": 4_346_764, "sent": 298,
        "buffers": 2309, "messages": [{ "message": "ClientHello", "instructions": 1_900_000, "stack": 4100, "heap": 1800 }],
    });
    let mut client = end.clone();
    client["flash"] = 51_912.into();
    client["sections"] = json!({ ".text": 50_148, ".rodata": 1764, ".data": 4, ".bss": 65_560 });
    client["crates"] = json!({ "tessera": 26_370, "sha2": 870, "client": 22_126, "other": 2546 });
    json!({
        "experiment": "embedded", "revision": "abc", "compiler": "rustc 1.96.0", "opt_level": "z", "small": true,
        "connections": 2,
        "images": [{ "image": "psk", "openssl": "connects", "client": client, "server": end }],
        "operations": [{ "operation": "X25519", "instructions": 1_650_000, "stack": 900 }],
    })
}

/// Makes a checkout whose script prints its options, and writes the document.
fn checkout(directory: &Directory) -> String {
    fs::create_dir(directory.path("scripts")).expect("a directory");
    directory.write("document", document().to_string());
    let script = r#"#!/bin/sh
echo "building, with $*"
[ "$6" != fails ] || exit 1
[ "$6" != unknown ] || exit 2
cp "${0%/*}/../document" "$2"
"#;
    let script = directory.write("scripts/firmware", script);
    fs::set_permissions(script, fs::Permissions::from_mode(0o700)).expect("it is ours");
    directory.path("")
}

#[test]
fn a_recorded_report_is_shown_without_an_emulator() {
    let directory = Directory::new();
    let recorded = directory.write("embedded.json", document().to_string());
    let [json, page] = ["again.json", "page.html"].map(|name| directory.path(name));
    let mut command = embedded(&["--from", &recorded, "--json", &json, "--report", &page]);
    command.env("PATH", directory.path(""));
    let (output, stderr) = ended(command);
    assert!(output.status.success(), "{stderr}");
    let shown = String::from_utf8(output.stdout).expect("tables");
    for part in ["rustc 1.96.0", "50,148", "ClientHello", "X25519", "published by others", "!no"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let again = fs::read_to_string(json).expect("the report");
    assert_eq!(serde_json::from_str::<Value>(&again).expect("a report"), document());
    let shown = chromium::show(&format!("file://{page}"), 1280);
    assert!(shown.console.is_empty(), "{:?}", shown.console);
    assert_eq!(shown.dom.matches("class=\"most\"").count(), 2, "the bounds of flash and RAM");
}

#[test]
fn the_images_of_a_checkout_are_built_by_its_script() {
    let directory = Directory::new();
    let source = checkout(&directory);
    let options =
        ["--source", &source, "--small", "--suites", "--images", "psk,p256", "--connections", "7"];
    let (output, stderr) = ended(embedded(&[&options[..], &["--json", "-"]].concat()));
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("--connections 7 --small --suites --images psk p256"), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report, document());
    let of = |image, words: &str| {
        let (output, stderr) = ended(embedded(&["--source", &source, "--images", image]));
        assert!(stderr.contains(words), "{stderr}");
        output.status.code()
    };
    assert_eq!(of("fails", "scripts/firmware failed"), Some(1));
    assert_eq!(of("unknown", "scripts/firmware refuses its options"), Some(2));
}

#[test]
fn what_is_missing_is_named_with_the_package_that_has_it() {
    let directory = Directory::new();
    let mut command = embedded(&["--source", &checkout(&directory)]);
    command.env("PATH", directory.path(""));
    let (output, stderr) = ended(command);
    assert_eq!(output.status.code(), Some(1));
    for words in ["missing: ", "ld.lld", "apt-get install ", "qemu-system-arm", "binutils"] {
        assert!(stderr.contains(words), "{words} in {stderr}");
    }
}

#[test]
fn documents_and_options_that_cannot_be_are_refused() {
    let refused = |arguments: &[&str], words: &str| {
        let mut command = embedded(arguments);
        command.current_dir(std::env::temp_dir());
        let (output, stderr) = ended(command);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: no {words:?} in {stderr}");
    };
    let directory = Directory::new();
    refused(&[], "in no checkout of Tessera");
    refused(&["--source", &directory.path("")], "no checkout of Tessera");
    refused(&["--from", "/nowhere.json"], "/nowhere.json can't be read: No such file");
    refused(&["--from", "x", "--small"], "cannot be used with");
    refused(&["--from", "x", "--suites"], "cannot be used with");
    refused(&["--connections", "0"], "0 is not in");
    let mut document = document();
    document["images"][0]["client"].as_object_mut().expect("fields").remove("crates");
    let recorded = directory.write("embedded.json", document.to_string());
    refused(
        &["--from", &recorded],
        "is not a report of `tessera lab embedded`: missing field `crates`",
    );
}
