//! `tessera lab load`, the program as a user starts it.
#![cfg(feature = "lab")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "load", "--link", "loopback", "--rtt", "0"])
        .args(arguments)
        .output()
        .expect("starts")
}

fn report(arguments: &[&str]) -> Value {
    let output = load(&[arguments, &["--json", "-"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("first accepted"), "the table is on standard error: {stderr}");
    serde_json::from_slice(&output.stdout).expect("standard output is the report alone")
}

/// Returns how many samples there are; buckets must ascend.
fn samples(histogram: &Value) -> u64 {
    let buckets = histogram.as_array().expect("buckets");
    let pair =
        |bucket: &Value| (bucket[0].as_f64().expect("µs"), bucket[1].as_u64().expect("count"));
    assert!(buckets.iter().map(pair).is_sorted_by(|(a, _), (b, _)| a < b), "{histogram}");
    buckets.iter().map(|bucket| pair(bucket).1).sum()
}

/// Whether the program measures its heap.
const COUNTS: bool = cfg!(feature = "heap");

fn check_memory(cell: &Value, users: f64, connections: f64) {
    let [open, vault] = ["server_memory_bytes", "vault_bytes"].map(|field| cell[field].as_f64());
    assert_eq!((open.is_some(), vault.is_some()), (COUNTS, COUNTS), "{cell}");
    let (Some(open), Some(vault)) = (open, vault) else { return };
    // The connections are open.
    assert!(open > 1_000.0 * users, "{cell}");
    // A key in a vault takes at least a seed; the other options have no vault.
    let has_vault = cell["option"] == "e";
    assert!(if has_vault { vault > 32.0 * connections } else { vault == 0.0 }, "{cell}");
}

/// Three cells of the grid; checks everything that other programs may rely on.
#[test]
fn the_report_of_loads_has_every_cell_and_every_field() {
    let rows = "--rows=c/psk-dhe/x25519/,e/0rtt-fs/none/x25519mlkem768";
    let report = report(
        &[
            &[rows, "--users", "1,3", "--storms", "4", "--rounds", "2"][..],
            &["--reconnections", "2", "--seed", "7"],
        ]
        .concat(),
    );
    assert_eq!(report["experiment"], "load");
    assert_eq!(report["seed"], 7);
    assert_eq!(report["link"], "loopback");
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    assert_eq!(report["not_run"], Value::Array(Vec::new()));

    let cells = report["cells"].as_array().expect("cells");
    let loads: Vec<_> = cells
        .iter()
        .map(|cell| {
            let number = |field: &str| cell[field].as_u64().expect(field);
            let text = |field: &str| cell[field].as_str().expect(field);
            (text("option"), text("kind"), number("users"), number("round"))
        })
        .collect();
    assert_eq!(
        loads,
        [
            ("c", "users", 1, 1),
            ("c", "users", 3, 1),
            ("e", "users", 1, 1),
            ("e", "users", 3, 1),
            ("c", "storm", 4, 1),
            ("e", "storm", 4, 1),
            // Each round begins with another row.
            ("e", "storm", 4, 2),
            ("c", "storm", 4, 2),
        ]
    );
    let storms = report["storms"].as_array().expect("storms");
    let rounds: Vec<_> =
        storms.iter().map(|it| (it["option"].as_str(), it["rounds"].as_u64())).collect();
    assert_eq!(rounds, [(Some("c"), Some(2)), (Some("e"), Some(2))]);
    for storm in storms {
        let tls = &storm["server_tls_us_per_connection"];
        assert!(tls["median"].as_f64() > Some(0.0) && tls["samples"] == 2, "{storm}");
        assert!(tls["interval"].is_null(), "two rounds have none: {storm}");
    }
    for cell in cells {
        let number =
            |field: &str| cell[field].as_f64().unwrap_or_else(|| panic!("{field}: {cell}"));
        assert_eq!(cell["suite"], "0x1302");
        assert_eq!(cell["store"], "memory");
        assert_eq!(cell["rtt_ms"], 0.0);
        assert_eq!(cell["failed"], 0, "{}", cell["why_failed"]);
        let storm = cell["kind"] == "storm";
        let (reconnections, exchanges) = if storm { (1, 1) } else { (2, 13) };
        assert_eq!(cell["reconnections"], reconnections);
        let connections = cell["users"].as_u64().expect("users") * reconnections;
        assert_eq!(cell["requests"], connections * exchanges);
        assert_eq!(samples(&cell["first_accepted_us"]), connections);
        assert_eq!(samples(&cell["response_us"]), connections);
        let registrations = if storm { 0 } else { connections };
        assert_eq!(samples(&cell["registration_us"]), registrations);
        let (seconds, rate) = (number("seconds"), number("requests_per_second"));
        assert!((seconds * rate / (connections * exchanges) as f64 - 1.0).abs() < 1e-6, "{cell}");
        let tls = number("server_tls_us_per_connection");
        assert!(0.0 < tls && tls < number("server_cpu_us_per_connection"), "{cell}");
        assert!(number("client_cpu_us_per_connection") > 0.0, "{cell}");
        check_memory(cell, number("users"), connections as f64);
    }

    // One connection of each kind, at each end.
    let memory = report["memory"].as_array().expect("memory");
    let which = |it: &Value| {
        ["option", "connection", "side"].map(|name| it[name].as_str().map(str::to_owned))
    };
    let mut kinds: Vec<_> = memory.iter().map(which).collect();
    kinds.dedup();
    assert_eq!(kinds.len(), if COUNTS { 2 * 2 * 2 } else { 0 }, "{memory:?}");
    for memory in memory {
        let components = memory["components"].as_object().expect("components").values();
        let sum: i64 = components.filter_map(Value::as_i64).sum();
        assert_eq!(memory["total"], sum, "{memory}");
        assert!(memory["held"]["total"].as_i64() <= memory["peak"]["total"].as_i64(), "{memory}");
    }

    let growth = report["growth"].as_array().expect("growth");
    assert_eq!(growth.len(), 2);
    for growth in growth {
        assert!(growth["exponent"].is_f64(), "{growth}");
        assert!(growth["interval"].is_null(), "two points have none: {growth}");
    }
}

/// Each way is what its name claims: the client checks each connection, and the server that early data is early.
#[test]
fn no_way_fails_in_a_storm() {
    let report = report(&["--storms", "2", "--rounds", "1"]);
    let cells = report["cells"].as_array().expect("cells");
    let options = ["a", "a", "b", "c", "c", "d", "d", "d'", "d'", "e", "e", "e", "e", "e", "e"];
    let found: Vec<_> = cells.iter().map(|cell| cell["option"].as_str().expect("option")).collect();
    assert_eq!(found, options);
    for cell in cells {
        assert_eq!(cell["failed"], 0, "{cell}");
        assert_eq!(samples(&cell["first_accepted_us"]), 2, "{cell}");
        // Without a vault it must be 0; a negative number would not be one of bytes.
        let vault = cell["vault_bytes"].as_i64();
        assert_eq!(vault.map(|it| it > 0), COUNTS.then(|| cell["option"] == "e"), "{cell}");
    }
}

/// A file that is removed on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn an_interrupted_load_goes_on_where_it_stopped() {
    let file = format!("tessera-load-{}.jsonl", std::process::id());
    let file = Scratch(std::env::temp_dir().join(file));
    let path = file.0.to_str().expect("a path in UTF-8");
    let rows = ["--rows", "b/", "--resume", path, "--reconnections", "1"];
    let first = report(&[rows.as_slice(), &["--users", "2"]].concat());
    // As if interrupted while a cell was written.
    let journal = fs::read(path).expect("a journal");
    fs::write(path, [journal.as_slice(), br#"{"option":"b","mo"#].concat()).expect("written");
    let second = report(&[rows.as_slice(), &["--users", "2,1"]].concat());
    assert_eq!(second["cells"][0], first["cells"][0], "it was not measured again");
    assert_eq!(second["cells"].as_array().map(Vec::len), Some(2));

    // A cell that no run can have finished.
    let journal = fs::read_to_string(path).expect("a journal");
    fs::write(path, journal.replacen("\"failed\":0", "\"failed\":9", 1)).expect("written");
    let changed = load(&[rows.as_slice(), &["--users", "2"]].concat());
    let stderr = String::from_utf8_lossy(&changed.stderr);
    assert_eq!(changed.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("line 2") && stderr.contains("9 of 2 reconnections"), "{stderr}");
    fs::write(path, journal).expect("written");

    let other = load(&[rows.as_slice(), &["--users", "1", "--seed", "2"]].concat());
    let stderr = String::from_utf8_lossy(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--resume") && stderr.contains("seed"), "{stderr}");
}

/// Used keys have left the vault, and used tickets are remembered: neither counts for the connections.
#[cfg(feature = "heap")]
#[test]
fn an_open_connection_holds_as_much_however_many_keys_were_used() {
    let rows = "--rows=b/,d'/0rtt/x25519mlkem768,e/0rtt-fs/none/x25519mlkem768";
    let report = report(&[rows, "--users", "5", "--reconnections", "60"]);
    let cells = report["cells"].as_array().expect("cells");
    let open = |cell: &Value| cell["server_memory_bytes"].as_f64().expect("bytes");
    let options: Vec<_> = cells.iter().map(|cell| cell["option"].as_str().expect("one")).collect();
    assert_eq!(options, ["b", "d'", "e"]);
    for cell in cells {
        let share = open(cell) / open(&cells[0]);
        assert!((0.8..1.25).contains(&share), "{share} of (b): {cell}");
    }
}

/// A process that dies fails its own cell, and no other.
#[test]
fn a_load_goes_on_when_one_of_its_processes_was_killed() {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_tessera"))
        .args(["lab", "load", "--link", "loopback", "--rtt", "0", "--rows", "b/"])
        .args(["--users", "50,3", "--reconnections", "10", "--json", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let server = loop {
        assert!(lab.try_wait().expect("asks").is_none(), "it ended");
        match child_with_arguments(lab.id(), "lab\0load-endpoint\0server\0") {
            Some(server) => break server,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let killed = Command::new("kill").args(["-s", "KILL", &server.to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let output = lab.wait_with_output().expect("ends");
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let users = |list: &str| {
        let cells = report[list].as_array().expect("a list");
        cells.iter().map(|cell| cell["users"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!((users("not_run"), users("cells")), (vec![Some(50)], vec![Some(3)]));
    let reason = report["not_run"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("the server's process failed"), "{reason}");
}

/// Returns the child of this process whose arguments end like this.
fn child_with_arguments(parent: u32, arguments: &str) -> Option<u32> {
    let processes = fs::read_dir("/proc").expect("processes");
    let mut numbers =
        processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.find(|number| {
        let read = |what: &str| fs::read_to_string(format!("/proc/{number}/{what}"));
        // The parent is the second field after the name, which may contain anything.
        let stat = read("stat").unwrap_or_default();
        let after_name = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        after_name.split(' ').nth(1) == Some(&parent.to_string())
            && read("cmdline").is_ok_and(|line| line.ends_with(arguments))
    })
}

#[test]
fn loads_that_cannot_be_are_refused_at_once() {
    for (arguments, words) in [
        (["--rtt", "134ms"].as_slice(), ["--rtt", "--link loopback"]),
        (&["--users", "0"], ["--users", "1..="]),
        (&["--storms", "60000"], ["--storms", "50000"]),
        (&["--modes", "fast"], ["--modes", "0rtt-fs"]),
        (&["--rows", "f/"], ["--rows", "no cell"]),
        (&["--users", "1,5,1"], ["--users", "1 occurs twice"]),
        (&["--storms", "7,7"], ["--storms", "7 occurs twice"]),
        // A load can't be shared.
        (&["--share", "1/2"], ["--share", "unexpected"]),
        (&["--json", "/nowhere/load.json"], ["--json", "directory"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tessera"))
            .args(["lab", "load", "--link", "loopback"])
            .args(arguments)
            .args(if arguments[0] == "--rtt" { [].as_slice() } else { &["--rtt", "0"] })
            .output()
            .expect("starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        for word in words {
            assert!(stderr.contains(word), "{arguments:?}: no {word:?} in {stderr}");
        }
    }
}
