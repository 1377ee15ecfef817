//! Loads evidence from this crate, and from a directory with results.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use super::lab::{EvidenceError, parse};
use super::{Evidence, Source};

/// The reports to look for in a directory. Where two overlap, the later one counts.
const REPORTS: [&str; 3] = ["reconnect.json", "roaming.json", "load.json"];

impl Evidence {
    /// Returns the evidence built into this crate: docs/advise.md describes how it was made, and from what.
    ///
    /// # Errors
    /// Only if the crate is broken.
    pub fn embedded() -> Result<Self, EvidenceError> {
        Self::summarized(include_str!("embedded.json"))
    }

    /// Parses evidence as serde wrote it.
    ///
    /// # Errors
    /// If the text is anything else.
    pub fn summarized(text: &str) -> Result<Self, EvidenceError> {
        parse(text)
    }

    /// Returns this evidence as JSON, with a line for each run, cell, protection and load.
    ///
    /// # Errors
    /// Only if a number in it is not finite.
    pub fn to_json(&self) -> Result<String, EvidenceError> {
        let lists = [
            list("sources", &self.sources)?,
            list("cells", &self.cells)?,
            list("protections", &self.protections)?,
            list("loads", &self.loads)?,
        ];
        Ok(format!("{{\n{}\n}}\n", lists.join(",\n")))
    }

    /// Reads the reports of the lab in a directory: `reconnect.json`, `roaming.json` and `load.json`, as many as there
    /// are.
    ///
    /// # Errors
    /// If there is none, or one of them can't be read or is invalid.
    pub fn in_directory(directory: &Path) -> Result<Self, EvidenceError> {
        let mut all: Option<Self> = None;
        for name in REPORTS {
            let path = directory.join(name);
            let of_file = |what: String| EvidenceError(format!("{}: {what}", path.display()));
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(of_file(error.to_string())),
            };
            let evidence = Self::read(&text).map_err(|error| of_file(error.0))?;
            all = Some(match all {
                Some(all) => all.and(evidence),
                None => evidence,
            });
        }
        all.ok_or_else(|| {
            EvidenceError(format!(
                "{}: none of {} is there; {}",
                directory.display(),
                REPORTS.join(", "),
                how_to_measure(None),
            ))
        })
    }

    /// Adds from other evidence what adversaries achieved against ways that are missing here: unlike costs, that
    /// depends on no machine.
    #[must_use]
    pub fn with_protections_of(mut self, other: Self) -> Self {
        let known: Vec<_> = self.protections.iter().map(|protection| protection.way).collect();
        let missing =
            other.protections.into_iter().filter(|protection| !known.contains(&protection.way));
        let count = self.protections.len();
        self.protections.extend(missing);
        if self.protections.len() > count {
            let only = |source| Source { protections_only: true, ..source };
            self.sources.extend(other.sources.into_iter().map(only));
        }
        self
    }
}

/// Returns a command that measures all that advice needs for a deployment with this round-trip time in milliseconds:
/// each way ((a) to (c), (d') and (e)), two round-trip times, and more than the six samples that certainty requires.
pub(crate) fn how_to_measure(rtt_ms: Option<f64>) -> String {
    // The lab's round-trip times are at most a minute.
    let rtt_ms = rtt_ms.filter(|rtt| *rtt > 0.0).map_or(134.0, |rtt| rtt.min(60_000.0));
    format!(
        "this command measures all that advice reads, over an emulated link (it needs root, or namespaces): `mkdir -p \
         results && \
         tessera lab reconnect --rtt 0,{rtt_ms}ms --repetitions 41 --json results/reconnect.json`; then add --results \
         results"
    )
}

fn list<T: Serialize>(name: &str, of: &[T]) -> Result<String, EvidenceError> {
    let lines: Result<Vec<_>, _> = of.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(|error| EvidenceError(error.to_string()))?;
    let lines = match lines.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", lines.join(",\n")),
    };
    Ok(format!("\"{name}\": [{lines}]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{KeyExchange, Letter, OneTimeKey, Setup, Way};

    #[test]
    fn the_evidence_that_comes_along_has_every_way_near_and_far() {
        let evidence = Evidence::embedded().unwrap();
        let plain = [Letter::A, Letter::C, Letter::D, Letter::DSingleUse].into_iter();
        let plain = plain.flat_map(|option| {
            [KeyExchange::X25519, KeyExchange::X25519MlKem768]
                .map(|kx| Way::plain(option, Some(kx)))
        });
        let fs = [
            (OneTimeKey::X25519, Some(KeyExchange::X25519)),
            (OneTimeKey::X25519MlKem768, Some(KeyExchange::X25519MlKem768)),
            (OneTimeKey::Psk, Some(KeyExchange::X25519)),
            (OneTimeKey::X25519, None),
            (OneTimeKey::X25519MlKem768, None),
            (OneTimeKey::Psk, None),
        ];
        let fs = fs.map(|(key, kx)| Way::forward_secret(key, kx));
        for way in plain.chain([Way::plain(Letter::B, None)]).chain(fs) {
            let cells: Vec<_> = evidence.plain_cells(way, Setup::Endpoints).collect();
            assert!(cells.len() >= 3, "{way}: {} round-trip times", cells.len());
            for cell in cells {
                let response = cell.response_us.unwrap();
                assert!(response.samples >= 20 && response.uncertainty().is_some(), "{way}");
                assert!(cell.processor_us().unwrap() > 0.0 && cell.client_bytes.is_some(), "{way}");
            }
            assert!(evidence.protection(way).is_some(), "{way} was attacked");
        }
        assert!(!evidence.sources.is_empty());
    }

    #[test]
    fn evidence_is_written_as_it_is_read_a_cell_a_line() {
        let evidence = Evidence::embedded().unwrap();
        let text = evidence.to_json().unwrap();
        assert_eq!(Evidence::summarized(&text).unwrap(), evidence);
        assert_eq!(text, include_str!("embedded.json"));
        assert!(text.lines().count() > evidence.cells.len());
        let empty = Evidence::default();
        assert_eq!(Evidence::summarized(&empty.to_json().unwrap()).unwrap(), empty);
        let wrong = Evidence::summarized("{\"sources\": 1}").unwrap_err().to_string();
        assert!(wrong.starts_with("sources: "), "{wrong}");
    }

    #[test]
    fn embedded_evidence_is_labelled_with_its_use() {
        let embedded = Evidence::embedded().unwrap();
        assert!(embedded.sources.iter().all(|source| !source.protections_only));
        let own = Evidence { sources: embedded.sources.clone(), ..Evidence::default() };
        let both = own.with_protections_of(embedded.clone());
        let told: Vec<_> = both.sources.iter().map(ToString::to_string).collect();
        let [own, brought] = told.as_slice() else { panic!("{told:?}") };
        assert!(own.starts_with("lab reconnect, "), "{own}");
        let label = "what ways protect: the evidence that comes with the program, lab reconnect, ";
        assert!(brought.starts_with(label), "{brought}");
        let nothing_missing = embedded.clone().with_protections_of(embedded.clone());
        assert_eq!(nothing_missing, embedded);
    }

    #[test]
    fn one_command_measures_everything() {
        let told = how_to_measure(None);
        assert!(told.contains("--rtt 0,134ms --repetitions 41 "), "{told}");
        assert!(how_to_measure(Some(0.0)).contains("--rtt 0,134ms "));
        assert!(how_to_measure(Some(0.25)).contains("--rtt 0,0.25ms "));
    }
}
