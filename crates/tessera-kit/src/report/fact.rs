//! What every fact looks like for programs.

use serde::Serialize;

/// Something that a program reports to other programs: an object a line, as `docs/facts.md` lists them.
///
/// The fields are those of the type. A field without a value is `null`, and never left out.
pub trait Fact: Serialize {
    /// What happened: the first field of the line.
    const EVENT: &'static str;
}

/// The version of all facts, the second field of every line. Fields and events may be added within a
/// version; what is there keeps its name, its type and its meaning.
pub const FACTS_VERSION: u32 = 1;

/// A fact as its line: `{"event": …, "facts": 1, …}`.
#[derive(Debug, Serialize)]
pub struct FactLine<'a, F> {
    event: &'static str,
    facts: u32,
    #[serde(flatten)]
    fact: &'a F,
}

impl<'a, F: Fact> FactLine<'a, F> {
    /// The line of this fact.
    pub const fn new(fact: &'a F) -> Self {
        Self { event: F::EVENT, facts: FACTS_VERSION, fact }
    }

    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}
