//! The common form of all facts.

use serde::Serialize;

/// A fact that a program reports to other programs: one object per line, as listed in `docs/facts.md`.
///
/// The fields are those of the type. A field without a value is `null`, and never omitted.
pub trait Fact: Serialize {
    /// The kind of event: the first field of the line.
    const EVENT: &'static str;
}

/// The version of all facts, the second field of every line. Within a version, fields and events may be
/// added; existing ones keep their name, type and meaning.
pub const FACTS_VERSION: u32 = 1;

/// A fact as a line: `{"event": …, "facts": 1, …}`.
#[derive(Debug, Serialize)]
pub struct FactLine<'a, F> {
    event: &'static str,
    facts: u32,
    #[serde(flatten)]
    fact: &'a F,
}

impl<'a, F: Fact> FactLine<'a, F> {
    /// Wraps a fact.
    pub const fn new(fact: &'a F) -> Self {
        Self { event: F::EVENT, facts: FACTS_VERSION, fact }
    }

    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
