use std::path::Path;

use super::*;

fn file(text: &str) -> Result<Facts, FactsError> {
    SourcedFacts::in_file(Path::new("facts.toml"), text)?.facts()
}

const LEAST: &str = "round-trip = \"134ms\"\nreconnections-per-hour = 4\n";

#[test]
fn facts_that_are_not_given_have_the_safe_default() {
    let facts = file(LEAST).unwrap();
    assert_eq!((facts.round_trip_ms, facts.reconnections_per_hour), (134.0, 4.0));
    assert_eq!((facts.connections, facts.waiting_requests, facts.servers), (1.0, 1.0, 1.0));
    assert_eq!((facts.application, facts.early_requests), (Application::Own, EarlyRequests::None));
    assert_eq!((facts.forward_secrecy, facts.post_quantum), (Need::Always, true));
    assert_eq!((facts.peer_tls, facts.shared_store), (PeerTls::Stock, SharedStore::None));
    assert_eq!(facts.longest_ticket_lifetime_hours, 168.0);
    assert!(facts.accept_risk.is_empty() && !facts.deletes_one_time_psks);
}

#[test]
fn every_fact_is_read_from_a_file_and_from_an_option() {
    let facts = [
        ("application", "\"sepp\"", "sepp"),
        ("round-trip", "\"0.25 s\"", "250ms"),
        ("reconnections-per-hour", "0.5", "0.5"),
        ("connections", "10_000", "10000"),
        ("waiting-requests", "13", "13"),
        ("early-requests", "\"repeatable\"", "repeatable"),
        ("forward-secrecy", "\"not-needed\"", "not-needed"),
        ("post-quantum", "false", "false"),
        ("fresh-certificates", "false", "false"),
        ("peer-tls", "\"tessera\"", "tessera"),
        ("servers", "3", "3"),
        ("same-server", "true", "true"),
        ("shared-store", "\"etcd\"", "etcd"),
        ("store-round-trip", "\"500us\"", "0.5ms"),
        ("ticket-memory", "\"64 MiB\"", "65536KiB"),
        ("server-processor", "\"300us\"", "0.3ms"),
        ("longest-ticket-lifetime", "\"2h\"", "120min"),
        ("deletes-one-time-psks", "true", "true"),
        ("accept-risk", "[\"replay\", \"no-forward-secrecy\"]", "replay,no-forward-secrecy"),
        ("bandwidth", "\"20 kbit/s\"", "0.02Mbit/s"),
        ("processor-price", "2.5", "2.5"),
    ];
    assert_eq!(facts.map(|(key, ..)| key), KEYS);
    let text: String = facts.iter().map(|(key, value, _)| format!("{key} = {value}\n")).collect();
    // A space before a unit is for readability.
    let of_file = file(&text.replace("0.25 s", "250ms")).unwrap();
    let options = facts.map(|(key, _, option)| (key, option.to_owned()));
    let of_options = SourcedFacts::default().with_options(options).facts().unwrap();
    assert_eq!(of_file, of_options);
    assert_eq!(of_file.ticket_memory, Some(67_108_864.0));
    assert_eq!(of_file.accept_risk, [Risk::Replay, Risk::NoForwardSecrecy]);
    assert_eq!(file(&text).unwrap(), of_file);
}

#[test]
fn an_option_counts_more_than_the_file() {
    let given = SourcedFacts::in_file(Path::new("facts.toml"), LEAST).unwrap();
    let given = given.with_options([("round-trip", "33ms".to_owned())]);
    assert_eq!(given.facts().unwrap().round_trip_ms, 33.0);
}

#[test]
fn impossible_facts_are_refused_with_their_place() {
    let cases = [
        ("", "facts.toml: round-trip: this fact is required"),
        ("round-trip = ", "facts.toml:1: "),
        (
            "\n\nround-trip = \"134\"",
            "facts.toml:3: round-trip: `134`: expected a time with its unit",
        ),
        ("round-trip = \"-1ms\"", "facts.toml:1: round-trip: `-1ms`"),
        ("round-trip = \"infms\"", "facts.toml:1: round-trip: `infms`"),
        ("round-trip = { a = 1 }", "facts.toml:1: round-trip: expected a string"),
        (
            "[round]\ntrip = 1",
            "facts.toml:1: `round` is not a fact; facts are application, round-trip, ",
        ),
        ("round-trip = \"1ms\"\nround-trip = \"2ms\"", "facts.toml:2: duplicate key"),
        (
            "round-trip = \"1ms\"\nreconnections-per-hour = -4",
            "facts.toml:2: reconnections-per-hour: `-4`",
        ),
        (
            "round-trip = \"1ms\"\nreconnections-per-hour = nan",
            "facts.toml:2: reconnections-per-hour: `nan`",
        ),
    ];
    for (text, expected) in cases {
        let error = file(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let more = [
        ("connections = 0", "connections: `0`: expected a whole number from 1 to"),
        ("servers = 1.5", "servers: `1.5`: expected a whole number"),
        ("ticket-memory = 64", "ticket-memory: `64`: expected bytes with their unit"),
        (
            "longest-ticket-lifetime = \"8d\"",
            "longest-ticket-lifetime: `8d`: expected a time from 1s to 7d",
        ),
        (
            "longest-ticket-lifetime = \"0s\"",
            "longest-ticket-lifetime: `0s`: expected a time from 1s to 7d",
        ),
        (
            "longest-ticket-lifetime = \"999ms\"",
            "longest-ticket-lifetime: `999ms`: expected a time from 1s to 7d, TLS's limit (RFC 8446 §4.6.1)",
        ),
        ("post-quantum = 1", "post-quantum: `1`: use one of true, false"),
        (
            "early-requests = \"all\"",
            "early-requests: `all`: use one of none, at-most-once, repeatable",
        ),
        ("accept-risk = [\"fire\"]", "accept-risk: `fire`: use one of no-forward-secrecy, "),
        ("accept-risk = [1]", "accept-risk: expected a string"),
        ("peer-tls = \"\\u001b[2J\"", "peer-tls: `\\u{1b}[2J`: use one of"),
    ];
    for (text, expected) in more {
        let error = file(&format!("{LEAST}{text}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("facts.toml:3: {expected}")), "{text}: {error}");
    }
    let option = SourcedFacts::default().with_options([("round-trip", "soon".to_owned())]);
    let error = option.facts().unwrap_err().to_string();
    assert!(error.starts_with("--round-trip: `soon`"), "{error}");
}

/// Units can overflow a finite number to infinity, and so can sums and products of facts.
#[test]
fn facts_without_measure_are_refused_with_the_limit() {
    for (key, limit, beyond, expected) in [
        ("round-trip", "1h", "1e308s", "`1e308s`: expected a time up to 1h"),
        ("round-trip", "3600s", "3601s", "`3601s`: expected a time up to 1h"),
        ("round-trip", "3600000ms", "1e9ms", "`1e9ms`: expected a time up to 1h"),
        ("store-round-trip", "1h", "1e308d", "`1e308d`: expected a time up to 1h"),
        ("server-processor", "1h", "1e308h", "`1e308h`: expected a time up to 1h"),
        ("ticket-memory", "1048576GiB", "1e300GiB", "`1e300GiB`: expected bytes up to"),
        ("longest-ticket-lifetime", "7d", "1e308d", "`1e308d`: expected a time from 1s to 7d"),
        ("connections", "1e9", "1e10", "`1e10`: expected a whole number from 1 to 1000000000"),
        ("servers", "1e9", "1e308", "`1e308`: expected a whole number from 1 to"),
        ("waiting-requests", "1e9", "1e308", "`1e308`: expected a number from 0 to"),
        ("bandwidth", "8bit/s", "7bit/s", "`7bit/s`: expected the rate of a link"),
        ("bandwidth", "1e3Gbit/s", "1e9Gbit/s", "`1e9Gbit/s`: expected the rate of a link"),
        ("processor-price", "1e9", "1e10", "`1e10`: expected a number from 0 to"),
        ("reconnections-per-hour", "1e9", "1e10", "`1e10`: expected a number from 0 to"),
        ("reconnections-per-hour", "1e-6", "1e-300", "`1e-300`: expected a number from 0.000001"),
    ] {
        let facts = |value: &str| {
            let mut all = vec![("round-trip", "1ms"), ("reconnections-per-hour", "4")];
            if key == "store-round-trip" {
                all.extend([("shared-store", "etcd"), ("servers", "3")]);
            }
            all.push((key, value));
            let all = all.into_iter().map(|(key, text)| (key, text.to_owned()));
            SourcedFacts::default().with_options(all).facts()
        };
        assert!(facts(limit).is_ok(), "{key} {limit}: {:?}", facts(limit));
        let error = facts(beyond).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--{key}: {expected}")), "{error}");
    }
}

/// TOML has types for both, and an option is a string anyway.
#[test]
fn numbers_and_booleans_between_quotation_marks_are_refused_with_what_to_write() {
    for (text, expected) in [
        ("post-quantum = \"true\"", "`\"true\"` is a string; write post-quantum = true"),
        ("servers = \" 3\"", "`\" 3\"` is a string; write servers = 3"),
        ("processor-price = \"10\"", "`\"10\"` is a string; write processor-price = 10"),
        ("post-quantum = \"maybe\"", "`maybe`: use one of true, false"),
    ] {
        let error = file(&format!("{LEAST}{text}")).unwrap_err();
        assert_eq!(error.what, expected);
        assert!(error.place.starts_with("facts.toml:3: "), "{error}");
    }
    let option = SourcedFacts::in_file(Path::new("facts.toml"), LEAST).unwrap();
    let option = option.with_options([("post-quantum", "false".to_owned())]);
    assert!(!option.facts().unwrap().post_quantum);
}

#[test]
fn a_connection_that_never_comes_back_needs_no_advice() {
    for never in ["0", "0.0"] {
        let error = file(&LEAST.replace("= 4", &format!("= {never}"))).unwrap_err();
        assert_eq!(error.place, "facts.toml:2: reconnections-per-hour");
        assert!(error.what.contains("never reconnects"), "{error}");
    }
}

#[test]
fn milliseconds_are_those_of_a_report() {
    for ms in [33, 105, 134, 290, 371] {
        let facts = file(&LEAST.replace("134", &ms.to_string())).unwrap();
        assert_eq!(facts.round_trip_ms, f64::from(ms));
    }
}

#[test]
fn contradictions_are_refused_with_the_fact_to_change_and_what_to_do() {
    let cases = [
        (
            "fresh-certificates = true\nlongest-ticket-lifetime = \"2h\"",
            4,
            "longest-ticket-lifetime",
        ),
        (
            "peer-tls = \"stock-without-tickets\"\nlongest-ticket-lifetime = \"2h\"",
            4,
            "longest-ticket-lifetime",
        ),
        ("deletes-one-time-psks = true", 3, "deletes-one-time-psks"),
        ("peer-tls = \"tessera\"\ndeletes-one-time-psks = true", 4, "deletes-one-time-psks"),
        (
            "fresh-certificates = true\nforward-secrecy = \"not-needed\"\naccept-risk = \"no-forward-secrecy\"",
            5,
            "accept-risk",
        ),
        (
            "peer-tls = \"stock-without-tickets\"\nforward-secrecy = \"not-needed\"\n\
             accept-risk = \"no-forward-secrecy\"",
            5,
            "accept-risk",
        ),
        (
            "peer-tls = \"stock-without-tickets\"\nservers = 3\nstore-round-trip = \"1ms\"\n\
             shared-store = \"etcd\"",
            6,
            "shared-store",
        ),
        ("peer-tls = \"stock-without-tickets\"\nticket-memory = \"1MiB\"", 4, "ticket-memory"),
        ("fresh-certificates = true\nticket-memory = \"1MiB\"", 4, "ticket-memory"),
        ("early-requests = \"at-most-once\"\nfresh-certificates = true", 3, "early-requests"),
        (
            "peer-tls = \"stock-without-tickets\"\nearly-requests = \"repeatable\"",
            4,
            "early-requests",
        ),
        ("accept-risk = \"no-forward-secrecy\"", 3, "accept-risk"),
        (
            "forward-secrecy = \"after-handshake\"\naccept-risk = \"no-forward-secrecy\"",
            4,
            "accept-risk",
        ),
        (
            "early-requests = \"repeatable\"\naccept-risk = [\"early-data-without-forward-secrecy\"]",
            4,
            "accept-risk",
        ),
        (
            "forward-secrecy = \"after-handshake\"\naccept-risk = [\"early-data-without-forward-secrecy\"]",
            4,
            "accept-risk",
        ),
        ("early-requests = \"at-most-once\"\naccept-risk = [\"replay\"]", 4, "accept-risk"),
        ("store-round-trip = \"1ms\"", 3, "store-round-trip"),
        ("servers = 1\nshared-store = \"etcd\"\nstore-round-trip = \"1ms\"", 4, "shared-store"),
    ];
    for (text, line, key) in cases {
        let error = file(&format!("{LEAST}{text}")).unwrap_err();
        assert_eq!(error.place, format!("facts.toml:{line}: {key}"), "{text}: {error}");
        assert!(error.what.contains("; "), "what to do: {error}");
    }
    // A missing key has no line, only the file's name.
    let error = file(&format!("{LEAST}servers = 3\nshared-store = \"etcd\"")).unwrap_err();
    assert_eq!(error.place, "facts.toml: store-round-trip");
    let both = SourcedFacts::in_file(Path::new("facts.toml"), LEAST).unwrap();
    let both = both.with_options([("accept-risk", "replay".to_owned())]);
    assert_eq!(both.facts().unwrap_err().place, "--accept-risk");
}

#[test]
fn facts_that_are_not_used_are_refused() {
    let given = SourcedFacts::in_file(Path::new("facts.toml"), LEAST).unwrap();
    assert_eq!(given.only(&["round-trip", "reconnections-per-hour"], "it"), Ok(()));
    assert_eq!(SourcedFacts::default().only(&[], "it"), Ok(()));
    let told = given.only(&["round-trip"], "the table").unwrap_err().to_string();
    let expected =
        "facts.toml:2: reconnections-per-hour: the table uses round-trip alone; leave this out";
    assert_eq!(told, expected);
    let option = SourcedFacts::default().with_options([("servers", "many".to_owned())]);
    let told = option.only(&[], "the evidence").unwrap_err().to_string();
    assert_eq!(told, "--servers: the evidence uses no facts; leave this out");
}

#[test]
fn the_page_has_every_fact() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/advise.md");
    let page = std::fs::read_to_string(page).unwrap();
    for key in KEYS {
        assert!(page.contains(&format!("\n| `{key}` | ")), "{key}");
    }
}
