//! The output of `check`: that a configuration can run, and what it would do, in a table for each section.

use std::fmt::{self, Display};
use std::path::Path;
use std::time::Duration;

pub use tessera_kit::report::print;

/// What a section would do, in rows of a key and a value.
#[derive(Debug, Clone)]
pub struct Table {
    title: String,
    rows: Vec<(&'static str, String)>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, key: &'static str, value: impl Display) {
        self.rows.push((key, value.to_string()));
    }

    /// Adds a row for each value.
    pub fn rows(&mut self, key: &'static str, values: impl IntoIterator<Item = impl Display>) {
        values.into_iter().for_each(|value| self.row(key, value));
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.title)?;
        let width = self.rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
        self.rows.iter().try_for_each(|(key, value)| writeln!(f, "  {key:<width$}  {value}"))
    }
}

/// Returns the whole text about a file that can run.
#[must_use]
pub fn text(file: &Path, tables: &[Table]) -> String {
    let tables = tables.iter().map(Table::to_string);
    format!("{} can run.\n{}", file.display(), tables.collect::<String>())
}

/// Joins values with commas.
pub fn joined(values: impl IntoIterator<Item = impl Display>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}

/// Formats a duration in the largest unit that fits.
#[must_use]
pub fn in_words(time: Duration) -> String {
    let millis = time.as_millis();
    [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")]
        .into_iter()
        .find(|(unit, _)| millis > 0 && millis.is_multiple_of(*unit))
        .map_or_else(|| format!("{millis}ms"), |(unit, name)| format!("{}{name}", millis / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_with_their_largest_unit() {
        for (millis, text) in [(0, "0ms"), (500, "500ms"), (90_000, "90s"), (43_200_000, "12h")] {
            assert_eq!(in_words(Duration::from_millis(millis)), text);
        }
    }
}
