//! Contradictory keys. A key that would be ignored silently is an error.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_proxy::config::{Contradiction, find_zero_time, wrong};

use super::{HaProxySection, NginxSection, RingSection, Server, Stek};

impl Stek {
    /// Finds contradictions, without reading any file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        if self.servers().next().is_none() {
            return wrong(
                "ring",
                "key",
                "no server is configured: add a [haproxy.NAME], an [nginx.NAME], an [envoy.NAME] or a [files.NAME]",
            );
        }
        if let Some((key, what)) = self.ring.find_contradiction() {
            return wrong("ring", key, what);
        }
        if !self.haproxy.is_empty() && self.ring.ticket_lifetime > self.ring.rotate_every {
            return wrong(
                "ring",
                "ticket-lifetime",
                "HAProxy holds a key for one rotation after it sealed, so a ticket can't live longer: lower it to \
                 `rotate-every`, or raise that",
            );
        }
        let mut files: BTreeMap<&PathBuf, String> = BTreeMap::new();
        for section in self.servers() {
            let (key, paths) = match section.server {
                Server::Envoy(envoy) => ("socket", std::slice::from_ref(&envoy.socket)),
                server => ("keys", server.key_files()),
            };
            for path in paths {
                if let Some(other) = files.insert(path, section.key()) {
                    let what = format!(
                        "{} is a file of [{other}] already: each needs its own",
                        path.display()
                    );
                    return wrong(section.key(), key, what);
                }
            }
            if section.pool().is_empty() {
                return wrong(section.key(), "pool", "must have a name");
            }
            let contradiction = match section.server {
                Server::HaProxy(haproxy) => haproxy.find_contradiction(),
                Server::Nginx(nginx) => nginx.find_contradiction(),
                Server::Envoy(_) | Server::Files(_) => None,
            };
            if let Some((key, what)) = contradiction {
                return wrong(section.key(), key, what);
            }
        }
        Ok(())
    }
}

impl RingSection {
    fn find_contradiction(&self) -> Contradiction {
        let times =
            [("rotate-every", self.rotate_every), ("ticket-lifetime", self.ticket_lifetime)];
        let zero = find_zero_time(&times);
        if zero.is_some() {
            return zero;
        }
        if self.rotate_every > LONGEST {
            return Some(("rotate-every", "rotate at least once a week"));
        }
        if self.ticket_lifetime > LONGEST {
            return Some(("ticket-lifetime", "no ticket lives longer than seven days"));
        }
        if self.ticket_lifetime > self.rotate_every.saturating_mul(MOST_KEYS) {
            return Some((
                "ticket-lifetime",
                "at most 64 times `rotate-every`: servers hold a key for each rotation of a ticket's life",
            ));
        }
        if self.clock_skew > self.rotate_every {
            return Some((
                "clock-skew",
                "clocks that differ by more than `rotate-every` can't agree on a key: lower it, or raise that",
            ));
        }
        match (&self.etcd, &self.file) {
            (None, None) => Some((
                "etcd",
                "where the ring is must be set: an `etcd` table, or a `file` for one host",
            )),
            (Some(_), Some(_)) => Some(("file", "the ring is in etcd: remove one of the two")),
            (Some(_), None) if self.serve.is_some() => Some((
                "serve",
                "serves the store in `file`, which isn't set: set it, or remove the key",
            )),
            _ => None,
        }
    }
}

/// The longest lifetime of a ticket (RFC 8446 §4.6.1), and of a key.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// The most keys that tickets may be sealed under and still live.
const MOST_KEYS: u32 = 64;

impl NginxSection {
    fn find_contradiction(&self) -> Contradiction {
        (self.keys.len() < 3).then_some((
            "keys",
            "needs at least three files, each named by an `ssl_session_ticket_key` of nginx: the issuing key, the next \
             one, and an earlier one",
        ))
    }
}

impl HaProxySection {
    fn find_contradiction(&self) -> Contradiction {
        // The name of the keys at the runtime socket, whose commands end at spaces and semicolons.
        let path = self.keys.to_string_lossy();
        path.contains([' ', ';', '\\', '"', '\'']).then_some((
            "keys",
            "HAProxy's runtime socket takes no path with spaces, quotes, backslashes or semicolons: choose another",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    const RING: &str = "[ring]\nfile = \"/run/ring\"\nkey = \"/etc/ring.key\"\n";
    const HAPROXY: &str = "[haproxy.a]\nsocket = \"/run/h.sock\"\nkeys = \"/run/h/keys\"\n";

    fn problem(text: &str) -> String {
        let document = Document::from_text(Path::new("/stek.toml"), text.to_owned());
        let stek: Stek = match document.parse() {
            Ok(stek) => stek,
            Err(error) => return error.to_string(),
        };
        stek.check().map_or_else(|error| document.locate(error).to_string(), |()| String::new())
    }

    #[test]
    fn a_contradiction_names_its_line_and_the_fix() {
        let good = format!("{RING}{HAPROXY}");
        assert_eq!(problem(&good), "");
        let nginx =
            "[nginx.b]\npid = \"/run/n.pid\"\nkeys = [\"/run/n/1\", \"/run/n/2\", \"/run/n/3\"]\n";
        assert_eq!(problem(&format!("{RING}{nginx}")), "");
        for (text, begins) in [
            (RING.to_owned(), "/stek.toml:3: [ring] key: no server is configured"),
            (
                good.replace("file = \"/run/ring\"\n", ""),
                "/stek.toml:1: [ring] etcd: where the ring is",
            ),
            (
                good.replace("key = ", "ticket-lifetime = \"2h\"\nkey = "),
                "/stek.toml:3: [ring] ticket-lifetime: HAProxy holds a key",
            ),
            (
                good.replace("key = ", "rotate-every = 0\nkey = "),
                "/stek.toml:3: [ring] rotate-every: ",
            ),
            (
                good.replace("key = ", "rotate-every = \"8d\"\nkey = "),
                "/stek.toml:3: [ring] rotate-every: ",
            ),
            (
                good.replace("/run/h/keys", "/run/h; x"),
                "/stek.toml:6: [haproxy.a] keys: HAProxy's runtime",
            ),
            (
                format!("{good}[envoy.e]\nsocket = \"/run/h/keys\"\n"),
                "/stek.toml:8: [envoy.e] socket: /run/h/keys is a file of [haproxy.a] already",
            ),
            (format!("{good}{}", HAPROXY.replace(".a", ".c")), "/stek.toml:9: [haproxy.c] keys: "),
            (
                format!("{RING}{}", nginx.replace(", \"/run/n/3\"", "")),
                "/stek.toml:6: [nginx.b] keys: needs",
            ),
            (
                good.replace("key = ", "clock-skew = \"2h\"\nkey = "),
                "/stek.toml:3: [ring] clock-skew: ",
            ),
            (
                good.replace("key = ", "ticket-lifetime = \"8d\"\nkey = "),
                "/stek.toml:3: [ring] ticket-lifetime: no ticket",
            ),
            (
                format!("{RING}{nginx}").replace("key = ", "ticket-lifetime = \"3d\"\nkey = "),
                "/stek.toml:3: [ring] ticket-lifetime: at most 64 times",
            ),
            (good.replace("socket", "sockett"), "/stek.toml:5: [haproxy.a] has no key `sockett`"),
        ] {
            let problem = problem(&text);
            assert!(problem.starts_with(begins), "{problem}");
        }
    }

    #[test]
    fn the_example_of_the_package_has_no_contradiction() {
        let text = include_str!("../../../../packaging/stek.toml");
        assert_eq!(problem(text), "");
        // What is commented out fits as well.
        let all = text.replace("\n# [", "\n[").replace("\n# pid", "\npid");
        let all = all.replace("\n# keys", "\nkeys").replace("\n# socket", "\nsocket");
        assert!(all.matches("\n[").count() == 6 && problem(&all).is_empty(), "{}", problem(&all));
    }
}
