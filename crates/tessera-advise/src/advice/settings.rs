//! Advice as settings of `tessera sepp`, of `tessera tunnel`, or of a program with the library.

use crate::evidence::{Continuation, Letter, OneTimeKey, Store, Way};
use crate::facts::{Application, EarlyRequests, Facts};

use super::lifetimes::Lifetimes;
use super::price::at_home;

/// Returns lines of the file for a SEPP and a tunnel (docs/sepp.md, docs/tunnel.md), and fields of the configurations
/// for any other program (docs/library.md).
pub(super) fn settings(way: Way, facts: &Facts, lifetimes: &Lifetimes) -> Vec<String> {
    match facts.application {
        Application::Sepp => sepp(way, facts, lifetimes),
        Application::Tunnel => tunnel(way, facts, lifetimes),
        Application::Own => own(way, lifetimes),
    }
}

/// Returns the settings without their comments.
pub(super) fn in_one_line(way: Way, facts: &Facts, lifetimes: &Lifetimes) -> String {
    let lines = settings(way, facts, lifetimes);
    let mut words = String::new();
    for line in lines.iter().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let space = match (words.is_empty(), words.ends_with(']')) {
            (true, _) => "",
            (_, true) => " ",
            _ => ", ",
        };
        words += space;
        words += line;
    }
    words
}

/// The continuation and the kind of one-time keys have no setting: a SEPP continues with psk_dhe_ke, and uses hybrid
/// keys if both ends support them.
fn sepp(way: Way, facts: &Facts, lifetimes: &Lifetimes) -> Vec<String> {
    let mut lines = vec!["[peer.NAME.reconnection]".to_owned()];
    lines.extend(match way.option {
        Letter::A => Some("resume = false".to_owned()),
        Letter::B => Some("risky-psk-ke = true".to_owned()),
        Letter::E => Some("early-data = \"fs\"".to_owned()),
        // (d) and (d') are never an answer for a SEPP.
        Letter::C | Letter::D | Letter::DSingleUse => None,
    });
    if way.option != Letter::A {
        lines.push(format!("ticket-lifetime = \"{}s\"", whole_seconds(lifetimes.ticket)));
    }
    if way.option == Letter::E {
        let lives = hours(lifetimes.one_time_key);
        lines.push(format!("# A one-time key lives {lives}: there is no key of this file for it."));
        if facts.early_requests == EarlyRequests::Repeatable {
            lines.push(
                "# repeatable = [\"GET /nnrf-disc/*\"]: what may be processed more than once."
                    .to_owned(),
            );
        }
    }
    lines.extend(fleet(way, facts, "tickets.fleet", "docs/sepp.md, two instances"));
    lines
}

/// Returns the settings that several servers share.
fn fleet(way: Way, facts: &Facts, section: &str, page: &str) -> Vec<String> {
    let (vault, rest) = match way.store {
        Store::Etcd => ("etcd", format!("# And etcd, ring-key and epoch-keys: {page}.")),
        Store::Memory if at_home(facts, way) < 1.0 => (
            "sites",
            format!(
                "# And etcd, ring-key and sites: {page}. Without them a flight at another server is `unknown`, and only \
                 what is repeatable is sent again."
            ),
        ),
        Store::Memory => return Vec::new(),
    };
    vec![String::new(), format!("[{section}]"), format!("vault = \"{vault}\""), rest]
}

/// A tunnel has no setting for the lifetime of tickets, nor for the kind of one-time keys.
fn tunnel(way: Way, facts: &Facts, lifetimes: &Lifetimes) -> Vec<String> {
    let mut lines = vec!["[client.NAME]".to_owned()];
    let is_early = way.option == Letter::E;
    if way.option == Letter::A {
        lines.push(
            "# A tunnel has no key that ends resumption: it resumes where both ends have a ticket."
                .to_owned(),
        );
    }
    lines.push(format!("early = \"{}\"", if is_early { "fs" } else { "never" }));
    if is_early {
        let continuation = way.continuation.map_or("psk_dhe_ke", Continuation::name);
        lines.push(format!("early-key-exchange = \"{continuation}\""));
        let lives = hours(lifetimes.one_time_key);
        lines.push(format!("# A one-time key lives {lives}: there is no key of this file for it."));
    }
    lines.extend(fleet(way, facts, "server.NAME.fleet", "docs/tunnel.md, several servers"));
    lines
}

fn own(way: Way, lifetimes: &Lifetimes) -> Vec<String> {
    let mut lines = match way.option {
        Letter::A => vec!["policy.resumption = false".to_owned()],
        Letter::B => vec!["policy.psk_only_without_forward_secrecy = true".to_owned()],
        Letter::C => vec!["policy.resumption = true".to_owned()],
        Letter::D | Letter::DSingleUse => {
            vec!["policy.early_data.replayable_without_forward_secrecy".to_owned()]
        }
        Letter::E => {
            let mut line = format!(
                "policy.early_data.forward_secret: lifetime {}",
                hours(lifetimes.one_time_key)
            );
            if way.continuation == Some(Continuation::PskKe) {
                line += ", Continuation::PskKe";
            }
            line += match way.ticket_key {
                Some(OneTimeKey::X25519) => ", kinds X25519",
                Some(OneTimeKey::Psk) => ", kinds ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED",
                Some(OneTimeKey::X25519MlKem768) | None => "",
            };
            if way.store == Store::Etcd {
                line += ", EtcdVault";
            }
            vec![line]
        }
    };
    if way.option != Letter::A {
        lines.push(format!("ticket_lifetime {}", hours(lifetimes.ticket)));
    }
    lines.extend(way.kx.map(|kx| format!("groups {} first", kx.registered_name())));
    lines
}

/// Formats hours for people: exact, except for fractions of a second.
pub(super) fn hours(hours: f64) -> String {
    let seconds = whole_seconds(hours);
    match (seconds % 3600, seconds % 60) {
        (0, _) if seconds > 0 => format!("{} h", seconds / 3600),
        (_, 0) if seconds > 0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// Converts hours to whole seconds, rounded down: no ticket may exceed its limit.
fn whole_seconds(hours: f64) -> u64 {
    let seconds = hours * 3600.0;
    // A third of an hour has no exact double.
    let nearest = seconds.round();
    let whole = if (seconds - nearest).abs() < 1e-6 { nearest } else { seconds.floor() };
    whole as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::KeyExchange;
    use crate::facts::SourcedFacts;

    const HYBRID: Option<KeyExchange> = Some(KeyExchange::X25519MlKem768);

    fn of(application: Application, way: Way) -> (Vec<String>, String) {
        let facts = Facts { application, ..Facts::at(134.0) };
        let lifetimes = Lifetimes::of(&facts);
        (settings(way, &facts, &lifetimes), in_one_line(way, &facts, &lifetimes))
    }

    #[test]
    fn a_sepp_gets_the_lines_of_its_file() {
        let e = Way::forward_secret(OneTimeKey::X25519MlKem768, HYBRID).with_store(Store::Etcd);
        let (lines, words) = of(Application::Sepp, e);
        assert_eq!(lines[..2], ["[peer.NAME.reconnection]", "early-data = \"fs\""]);
        assert!(lines.iter().any(|line| line.starts_with("# A one-time key lives 1 h")));
        assert!(lines.contains(&"[tickets.fleet]".to_owned()), "{lines:?}");
        assert_eq!(
            words,
            "[peer.NAME.reconnection] early-data = \"fs\", ticket-lifetime = \"10800s\", \
             [tickets.fleet] vault = \"etcd\""
        );
        let (_, words) = of(Application::Sepp, Way::plain(Letter::A, HYBRID));
        assert_eq!(words, "[peer.NAME.reconnection] resume = false");
    }

    #[test]
    fn several_servers_share_their_keys() {
        let e = Way::forward_secret(OneTimeKey::X25519MlKem768, HYBRID);
        for (application, section) in
            [(Application::Sepp, "[tickets.fleet]"), (Application::Tunnel, "[server.NAME.fleet]")]
        {
            let facts = Facts { application, servers: 4.0, ..Facts::at(134.0) };
            let lines = settings(e, &facts, &Lifetimes::of(&facts));
            assert!(lines.iter().any(|line| line == section), "{lines:?}");
            assert!(lines.contains(&"vault = \"sites\"".to_owned()), "{lines:?}");
            let alone = Facts { same_server: true, ..facts };
            let lines = settings(e, &alone, &Lifetimes::of(&alone));
            assert!(!lines.iter().any(|line| line == section), "{lines:?}");
        }
    }

    #[test]
    fn no_lifetime_is_longer_than_what_is_allowed() {
        for (longest, setting, words) in [
            ("1600ms", "1s", "1 s"),
            ("1s", "1s", "1 s"),
            ("90s", "90s", "90 s"),
            ("119999ms", "119s", "119 s"),
            ("1200s", "1200s", "20 min"),
            ("30min", "1800s", "30 min"),
            ("3599s", "3599s", "3599 s"),
            ("90min", "5400s", "90 min"),
            ("2h", "7200s", "2 h"),
        ] {
            let options = [
                ("round-trip", "134ms"),
                ("reconnections-per-hour", "0.1"),
                ("longest-ticket-lifetime", longest),
            ];
            let options = options.map(|(key, text)| (key, text.to_owned()));
            let facts = SourcedFacts::default().with_options(options).facts().unwrap();
            let lifetimes = Lifetimes::of(&facts);
            let sepp = Facts { application: Application::Sepp, ..facts.clone() };
            let c = Way::plain(Letter::C, HYBRID);
            let expected = format!("ticket-lifetime = \"{setting}\"");
            assert_eq!(settings(c, &sepp, &lifetimes)[1], expected, "{longest}");
            assert_eq!(settings(c, &facts, &lifetimes)[1], format!("ticket_lifetime {words}"));
        }
        // Each whole number of seconds survives the conversion to hours.
        for seconds in 1..=7 * 24 * 3600_u32 {
            assert_eq!(whole_seconds(f64::from(seconds) / 3600.0), u64::from(seconds));
        }
    }

    #[test]
    fn a_program_gets_the_fields_of_the_library() {
        let psk = Way::forward_secret(OneTimeKey::Psk, None);
        let (_, words) = of(Application::Own, psk);
        for part in ["forward_secret: lifetime 3 h", "Continuation::PskKe", "IF_DELETED"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let (lines, _) = of(Application::Own, Way::plain(Letter::DSingleUse, HYBRID));
        assert!(lines[0].ends_with("replayable_without_forward_secrecy"), "{lines:?}");
    }
}
