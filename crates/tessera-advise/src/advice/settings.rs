//! Advice as settings: of `tessera sepp`, or of a program with the library.

use crate::evidence::{Continuation, Letter, OneTimeKey, Store, Way};
use crate::facts::{Application, EarlyRequests, Facts};

use super::lifetimes::Lifetimes;

/// For a SEPP the lines of its file (docs/sepp.md), for a program of one's own the fields of its configurations
/// (docs/library.md).
pub(super) fn settings(way: Way, facts: &Facts, lifetimes: &Lifetimes) -> Vec<String> {
    match facts.application {
        Application::Sepp => sepp(way, facts, lifetimes),
        Application::Own => own(way, lifetimes),
    }
}

/// The same without its comments.
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

/// The continuation and the kind of one-time keys have no key: a SEPP goes on with psk_dhe_ke, and takes hybrid keys
/// where both ends have these.
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
        lines.push(format!("ticket-lifetime = \"{}s\"", (lifetimes.ticket * 3600.0).round()));
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
    if way.store == Store::Etcd {
        let fleet = [
            "",
            "[tickets.fleet]",
            "vault = \"etcd\"",
            "# And etcd, ring-key and epoch-keys: docs/sepp.md, two instances.",
        ];
        lines.extend(fleet.map(str::to_owned));
    }
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
    lines.extend(way.kx.map(|kx| format!("groups {} first", kx.name())));
    lines
}

/// Hours as people say them.
pub(super) fn hours(hours: f64) -> String {
    match hours {
        ..1.0 => format!("{:.0} min", hours * 60.0),
        _ => format!("{hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::KeyExchange;

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
