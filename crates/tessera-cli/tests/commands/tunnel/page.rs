//! `docs/tunnel.md` lists every key, and no other.

use std::collections::BTreeSet;

use crate::program::{run, tessera};

const PAGE: &str = include_str!("../../../../../docs/tunnel.md");

/// Returns the keys of the table under this heading, up to the next heading of the same level.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, rest) = PAGE.split_once(&format!("\n### `[{heading}]`\n")).unwrap();
    let section = rest.split("\n### ").next().unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let keys = rows.flat_map(|row| row.trim_end_matches('`').split("`, `").map(str::to_owned));
    keys.collect()
}

/// Returns the options of a command, which are keys.
fn options(command: &str) -> BTreeSet<String> {
    let output = run(tessera().args(["tunnel", command, "--help"]), "");
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help.lines().map(str::trim_start).filter_map(|line| line.strip_prefix("--"));
    let names = lines.filter_map(|line| line.split([' ', ',']).next());
    names.map(|name| name.trim_start_matches("limit-").to_owned()).collect()
}

#[test]
fn every_option_is_a_key_that_the_page_has_and_every_key_but_those_of_fleets_an_option() {
    let process = documented("process");
    for (command, heading) in [("server", "server.NAME"), ("client", "client.NAME")] {
        let options: BTreeSet<_> = options(command).difference(&process).cloned().collect();
        assert!(options.len() > 15, "{options:?}");
        let mut keys = documented(heading);
        if command == "client" {
            // They are documented at the server.
            keys.extend(documented("server.NAME"));
        }
        let missing: Vec<_> = options.difference(&keys).filter(|key| *key != "help").collect();
        assert!(missing.is_empty(), "{command}: not on the page: {missing:?}");
        if command == "server" {
            let of_fleets = ["etcd", "ring-key", "vault", "epoch-keys", "sites"];
            let unknown: Vec<_> = keys
                .difference(&options)
                .filter(|key| !of_fleets.contains(&key.as_str()))
                .collect();
            assert!(unknown.is_empty(), "on the page, and no option: {unknown:?}");
        }
    }
    assert_eq!(process, BTreeSet::from(["admin", "drain", "log"].map(str::to_owned)));
}
