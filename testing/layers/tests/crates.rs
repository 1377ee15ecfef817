//! Imports inside every target of every crate of the repository point down.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tessera_layers::{circles, has_tests, out_of_order};

#[test]
fn imports_inside_each_target_of_each_crate_point_down() {
    let repository = repository();
    let mut wrong = Vec::new();
    let mut checked = 0;
    for target in targets(&repository) {
        let root = Path::new(target["src_path"].as_str().unwrap());
        let found = circles(root).unwrap();
        if !found.is_empty() {
            let name = root.strip_prefix(&repository).unwrap().display();
            wrong.push(format!("{name}:\n  {}", found.join("\n  ")));
        }
        checked += 1;
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(checked >= 100, "only {checked} targets were found");
}

/// Each program of tests takes seconds to build. What has `test = false` and tests would never run them.
#[test]
fn libraries_and_programs_are_built_as_tests_if_they_have_any() {
    let is_wrong = |target: &Value| {
        let is_library_or_program = target["kind"][0] == "bin" || target["kind"][0] == "lib";
        let root = Path::new(target["src_path"].as_str().unwrap());
        is_library_or_program && has_tests(root).unwrap() != target["test"].as_bool().unwrap()
    };
    let wrong: Vec<_> = targets(&repository()).into_iter().filter(is_wrong).collect();
    let roots: Vec<_> = wrong.iter().map(|target| &target["src_path"]).collect();
    assert!(wrong.is_empty(), "`test` is wrong in the manifest of {roots:#?}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns all libraries, programs, examples, tests and benchmarks, as cargo describes them.
fn targets(repository: &Path) -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    let output = cargo.current_dir(repository).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
    // A build script is one file, and part of no other crate.
    targets.filter(|target| target["kind"][0] != "custom-build").cloned().collect()
}

/// The floors of the engine, from the top. From `limits` on: the ground floor.
const FLOORS: &[&str] = &[
    "face",
    "connection",
    "record",
    "handshake",
    "resume",
    "auth",
    "schedule",
    "crypto",
    "wire",
    "linked",
    "limits",
    "error",
    "address_prefix",
    "alert",
    "carrier",
    "code_point",
    "connection_id",
    "key_log",
    "padding",
    "question",
    "role",
    "time",
];

#[test]
fn imports_between_the_floors_of_the_engine_point_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/tessera/src/lib.rs");
    let wrong = out_of_order(&root, FLOORS).unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
