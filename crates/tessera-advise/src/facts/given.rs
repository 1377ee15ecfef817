//! Parses facts from a file, and from options, which take precedence.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::values::{self, Value};
use super::{Facts, FactsError, Risk, contradictions};

/// The keys of a file of facts, which are also the options of `tessera advise`.
pub const KEYS: [&str; 21] = [
    "application",
    "round-trip",
    "reconnections-per-hour",
    "connections",
    "waiting-requests",
    "early-requests",
    "forward-secrecy",
    "post-quantum",
    "fresh-certificates",
    "peer-tls",
    "servers",
    "same-server",
    "shared-store",
    "store-round-trip",
    "ticket-memory",
    "server-processor",
    "longest-ticket-lifetime",
    "deletes-one-time-psks",
    "accept-risk",
    "bandwidth",
    "processor-price",
];

/// Facts, and where each was set.
#[derive(Clone, Debug, Default)]
pub struct SourcedFacts {
    file: Option<String>,
    facts: BTreeMap<&'static str, Fact>,
}

#[derive(Clone, Debug)]
struct Fact {
    text: String,
    place: String,
    /// Whether it is a quoted string in a file.
    quoted: bool,
}

impl SourcedFacts {
    /// Reads the facts of a TOML file; `path` is its name in errors.
    ///
    /// # Errors
    /// If it is not TOML, or has unknown keys.
    pub fn in_file(path: &Path, text: &str) -> Result<Self, FactsError> {
        let file = path.display().to_string();
        let at = |position: usize| {
            let before = text.as_bytes().get(..position).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            format!("{file}:{line}")
        };
        let root = DeTable::parse(text).map_err(|error| FactsError {
            place: at(error.span().map_or(0, |span| span.start)),
            what: error.message().to_owned(),
        })?;
        let mut facts = BTreeMap::new();
        for (key, value) in root.get_ref() {
            let line = at(key.span().start);
            let name: &str = key.get_ref();
            let Some(known) = known(name) else {
                let what = format!(
                    "`{}` is not a fact; facts are {}",
                    name.escape_default(),
                    KEYS.join(", ")
                );
                return Err(FactsError { place: line, what });
            };
            let place = format!("{line}: {known}");
            let text = plain(value.get_ref()).ok_or_else(|| FactsError {
                place: place.clone(),
                what: "expected a string, a number, true or false; several in [ ]".to_owned(),
            })?;
            let quoted = matches!(value.get_ref(), DeValue::String(_));
            facts.insert(known, Fact { text, place, quoted });
        }
        Ok(Self { file: Some(file), facts })
    }

    /// Adds the facts of options, which override those of the file.
    ///
    /// Unknown keys are ignored.
    #[must_use]
    pub fn with_options<'a>(
        mut self,
        options: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Self {
        for (key, text) in options {
            if let Some(key) = known(key) {
                let place = format!("--{key}");
                self.facts.insert(key, Fact { text, place, quoted: false });
            }
        }
        self
    }

    /// Returns the facts, with defaults for those that are not set.
    ///
    /// # Errors
    /// If a required fact is missing or one is invalid, or if two contradict each other.
    pub fn facts(&self) -> Result<Facts, FactsError> {
        let facts = self.read()?;
        match contradictions::find(&facts, |key| self.facts.contains_key(key)) {
            Some((key, what)) => Err(self.error(key, what)),
            None => Ok(facts),
        }
    }

    /// Returns `round-trip`, in milliseconds, if it is set.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn round_trip_ms(&self) -> Result<Option<f64>, FactsError> {
        self.maybe("round-trip", values::milliseconds)
    }

    /// Rejects facts that `what` doesn't use.
    ///
    /// # Errors
    /// If another one is set.
    pub fn only(&self, used: &[&str], what: &str) -> Result<(), FactsError> {
        let Some((key, _)) = self.facts.iter().find(|(key, _)| !used.contains(key)) else {
            return Ok(());
        };
        let uses = match used {
            [] => "no facts".to_owned(),
            used => format!("{} alone", used.join(", ")),
        };
        Err(self.error(key, format!("{what} uses {uses}; leave this out")))
    }

    fn read(&self) -> Result<Facts, FactsError> {
        let default = Facts::at(self.needed("round-trip", values::milliseconds)?);
        Ok(Facts {
            application: self.or("application", Value::read, default.application)?,
            round_trip_ms: default.round_trip_ms,
            reconnections_per_hour: self
                .bare("reconnections-per-hour", values::reconnections)?
                .ok_or_else(|| self.missing("reconnections-per-hour"))?,
            connections: self
                .bare("connections", values::at_least_one)?
                .unwrap_or(default.connections),
            waiting_requests: self
                .bare("waiting-requests", values::number)?
                .unwrap_or(default.waiting_requests),
            early_requests: self.or("early-requests", Value::read, default.early_requests)?,
            forward_secrecy: self.or("forward-secrecy", Value::read, default.forward_secrecy)?,
            post_quantum: self.bare("post-quantum", Value::read)?.unwrap_or(default.post_quantum),
            fresh_certificates: self
                .bare("fresh-certificates", Value::read)?
                .unwrap_or(default.fresh_certificates),
            peer_tls: self.or("peer-tls", Value::read, default.peer_tls)?,
            servers: self.bare("servers", values::at_least_one)?.unwrap_or(default.servers),
            same_server: self.bare("same-server", Value::read)?.unwrap_or(default.same_server),
            shared_store: self.or("shared-store", Value::read, default.shared_store)?,
            store_round_trip_ms: self.maybe("store-round-trip", values::milliseconds)?,
            ticket_memory: self.maybe("ticket-memory", values::bytes)?,
            server_processor_us: self.maybe("server-processor", values::microseconds)?,
            longest_ticket_lifetime_hours: self.or(
                "longest-ticket-lifetime",
                values::lifetime_hours,
                default.longest_ticket_lifetime_hours,
            )?,
            deletes_one_time_psks: self
                .bare("deletes-one-time-psks", Value::read)?
                .unwrap_or(default.deletes_one_time_psks),
            accept_risk: self.or("accept-risk", values::list::<Risk>, default.accept_risk)?,
            bandwidth: self.maybe("bandwidth", values::bandwidth)?,
            processor_price: self
                .bare("processor-price", values::number)?
                .unwrap_or(default.processor_price),
        })
    }

    fn needed<T>(&self, key: &'static str, read: Reader<T>) -> Result<T, FactsError> {
        self.maybe(key, read)?.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &'static str) -> FactsError {
        self.error(key, "this fact is required; set it".into())
    }

    /// Reads a number or a boolean, which a file has unquoted.
    fn bare<T>(&self, key: &'static str, read: Reader<T>) -> Result<Option<T>, FactsError> {
        let value = self.maybe(key, read)?;
        match self.facts.get(key).filter(|fact| fact.quoted) {
            Some(Fact { text, .. }) => {
                let right = text.trim();
                let what = format!("`\"{}\"` is a string; write {key} = {right}", printable(text));
                Err(self.error(key, what))
            }
            None => Ok(value),
        }
    }

    fn or<T>(&self, key: &'static str, read: Reader<T>, default: T) -> Result<T, FactsError> {
        Ok(self.maybe(key, read)?.unwrap_or(default))
    }

    fn maybe<T>(&self, key: &'static str, read: Reader<T>) -> Result<Option<T>, FactsError> {
        let Some(fact) = self.facts.get(key) else { return Ok(None) };
        let value = read(&fact.text);
        value
            .map(Some)
            .map_err(|what| self.error(key, format!("`{}`: {what}", printable(&fact.text))))
    }

    /// Creates an error about a fact, at the place where it was set.
    fn error(&self, key: &str, what: String) -> FactsError {
        let place = match (self.facts.get(key), &self.file) {
            (Some(fact), _) => fact.place.clone(),
            (None, Some(file)) => format!("{file}: {key}"),
            (None, None) => format!("--{key}"),
        };
        FactsError { place, what }
    }
}

type Reader<T> = fn(&str) -> Result<T, String>;

fn known(name: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|key| *key == name)
}

/// Returns a value as an option would have it; `None` for tables and other types that no fact has.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Array(values) => {
            let values: Option<Vec<_>> = values
                .iter()
                .map(|value| match value.get_ref() {
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                })
                .collect();
            Some(values?.join(","))
        }
        _ => None,
    }
}

/// Removes terminal control sequences from a text.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for c in text.chars() {
        if c.is_control() {
            printable.extend(c.escape_default());
        } else {
            printable.push(c);
        }
    }
    printable
}
