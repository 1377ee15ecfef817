//! Imports inside every crate of the repository point down.
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::fs;
use std::path::{Path, PathBuf};

use tessera_layers::{circles, out_of_order};

/// Folders of crates, and folders that are crates.
const FOLDERS: &[&str] = &["crates", "testing", "examples", "formal", "bench", "bogo-shim"];

#[test]
fn imports_inside_each_crate_point_down() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for folder in FOLDERS {
        let inside =
            fs::read_dir(repository.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for path in inside.chain([repository.join(folder)]).filter(|path| !roots(path).is_empty()) {
            let name = path.strip_prefix(&repository).unwrap().to_str().unwrap();
            let found: Vec<_> =
                roots(&path).iter().flat_map(|root| circles(root).unwrap()).collect();
            if !found.is_empty() {
                wrong.push(format!("{name}:\n  {}", found.join("\n  ")));
            }
            checked += 1;
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(checked >= 20, "only {checked} crates were found");
}

/// The floors of the engine, from the top. From `error` on: the ground floor.
const FLOORS: &[&str] = &[
    "connection",
    "record",
    "handshake",
    "resume",
    "auth",
    "schedule",
    "crypto",
    "wire",
    "error",
    "alert",
    "carrier",
    "code_point",
    "key_log",
    "limits",
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

fn roots(path: &Path) -> Vec<PathBuf> {
    let roots = ["src/lib.rs", "src/main.rs"].map(|root| path.join(root));
    roots.into_iter().filter(|root| root.exists()).collect()
}
