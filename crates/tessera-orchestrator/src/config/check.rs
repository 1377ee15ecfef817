//! Contradictory keys. A key that would be ignored silently is an error.

use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_proxy::config::{
    Contradiction, check_listeners, find_impossible_name, find_zero_count, find_zero_time, wrong,
};

use super::{ApiSection, Configuration, MovesSection, PoolSection};

/// The longest `ma`: it is how long an alternative that is dead may cost a client.
const LONGEST_MA: Duration = Duration::from_secs(60);

impl Configuration {
    /// Finds contradictions, without reading any file.
    ///
    /// # Errors
    /// `[section] key: ` and what to do.
    pub fn check(&self) -> Result<(), ProgramError> {
        let listeners = [Some(("api", "listen", &self.api.listen))]
            .into_iter()
            .chain([self.process.admin.as_ref().map(|admin| ("process", "admin", admin))])
            .flatten();
        check_listeners(listeners)?;
        for (section, contradiction) in [
            ("pool", self.pool.find_contradiction()),
            ("api", self.api.find_contradiction()),
            ("moves", self.moves.find_contradiction()),
        ] {
            if let Some((key, what)) = contradiction {
                return wrong(section, key, what);
            }
        }
        Ok(())
    }
}

impl PoolSection {
    fn find_contradiction(&self) -> Contradiction {
        let zero = find_zero_time(&[
            ("ma", self.ma),
            ("dwell", self.dwell),
            ("prepare", self.prepare),
            ("follow", self.follow),
        ]);
        if zero.is_some() {
            return zero;
        }
        if self.ma > LONGEST_MA {
            return Some((
                "ma",
                "at most 60s: clients fail for this long if the proxy that was announced dies",
            ));
        }
        if self.dwell < self.ma {
            return Some((
                "dwell",
                "must be at least `ma`: a client that moves on sooner may still follow an earlier announcement",
            ));
        }
        match (&self.etcd, &self.file) {
            (None, None) => Some((
                "etcd",
                "where the bindings are must be set: the `etcd` table of the proxies",
            )),
            (Some(_), Some(_)) => Some(("file", "the bindings are in etcd: remove one of the two")),
            _ => None,
        }
    }
}

impl ApiSection {
    fn find_contradiction(&self) -> Contradiction {
        if self.operators.as_ref().is_some_and(Vec::is_empty) {
            return Some((
                "operators",
                "names no operator, so no client could be moved: add a name, or remove the key to let all holders of a \
                 certificate of `ca` make changes",
            ));
        }
        let operators = self.operators.as_deref().unwrap_or_default();
        find_impossible_name("operators", operators)
            .or_else(|| find_zero_count(&[("connections", self.connections)]))
    }
}

impl MovesSection {
    fn find_contradiction(&self) -> Contradiction {
        if self.hysteresis > 90 {
            return Some(("hysteresis", "is a percentage, at most 90"));
        }
        if self.drain_per_second == 0 {
            return Some(("drain-per-second", "must be at least 1"));
        }
        find_zero_count(&[("waiting", self.waiting), ("drain-at-once", self.drain_at_once)])
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tessera_proxy::config::Document;

    use super::*;

    const POOL: &str = "[pool]\nfile = \"/run/pool\"\n";
    const API: &str =
        "[api]\nlisten = \"127.0.0.1:8444\"\ncertificate = \"/etc/o.pem\"\nca = \"/etc/ca.pem\"\n";

    fn problem(text: &str) -> String {
        let document = Document::from_text(Path::new("/o.toml"), text.to_owned());
        let configuration: Configuration = match document.parse() {
            Ok(configuration) => configuration,
            Err(error) => return error.to_string(),
        };
        let checked = configuration.check();
        checked.map_or_else(|error| document.locate(error).to_string(), |()| String::new())
    }

    #[test]
    fn a_contradiction_names_its_line_and_the_fix() {
        let good = format!("{POOL}{API}");
        assert_eq!(problem(&good), "");
        let pool = |line: &str| format!("{POOL}{line}\n{API}");
        for (text, begins) in [
            (good.replace("file = \"/run/pool\"\n", ""), "/o.toml:1: [pool] etcd: where"),
            (pool("ma = \"61s\""), "/o.toml:3: [pool] ma: at most 60s"),
            (pool("dwell = \"29s\""), "/o.toml:3: [pool] dwell: must be at least `ma`"),
            (pool("prepare = 0"), "/o.toml:3: [pool] prepare: "),
            (pool("follow = 0"), "/o.toml:3: [pool] follow: "),
            (pool("etcd = { endpoints = [\"e:2379\"] }"), "/o.toml:2: [pool] file: the bindings"),
            (format!("{good}operators = []\n"), "/o.toml:7: [api] operators: names no operator"),
            (
                format!("{good}operators = [\"dns:ops.example\"]\n"),
                "/o.toml:7: [api] operators: write names as",
            ),
            (format!("{good}connections = 0\n"), "/o.toml:7: [api] connections: "),
            (format!("{good}[moves]\nhysteresis = 91\n"), "/o.toml:8: [moves] hysteresis: "),
            (format!("{good}[moves]\nwaiting = 0\n"), "/o.toml:8: [moves] waiting: "),
            (format!("{good}[moves]\ndrain-at-once = 0\n"), "/o.toml:8: [moves] drain-at-once: "),
            (format!("{good}[moves]\ndrain-per-second = 0\n"), "/o.toml:8: [moves] drain-per"),
            (
                format!("[process]\nadmin = \"127.0.0.1:8444\"\n{good}"),
                "/o.toml:2: [process] admin: [api] listen is already",
            ),
            (good.replace("listen", "lisen"), "/o.toml:4: [api] has no key `lisen`"),
            (good.replace("ca = ", "# ca = "), "/o.toml:3: the key `ca` is missing from [api]"),
            (POOL.to_owned(), "/o.toml: the section [api] is missing"),
            (API.to_owned(), "/o.toml: the section [pool] is missing"),
        ] {
            let problem = problem(&text);
            assert!(problem.starts_with(begins), "{problem}\n{text}");
        }
    }

    #[test]
    fn the_example_of_the_package_has_no_contradiction() {
        assert_eq!(problem(include_str!("../../../../packaging/orchestrator.toml")), "");
    }
}
