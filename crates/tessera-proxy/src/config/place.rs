//! Positions in a file.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A key, with its tables: `[server.postgres] listen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(Vec<String>);

impl Place {
    pub(super) fn named(keys: &[&str]) -> Self {
        Self(keys.iter().map(|&key| key.to_owned()).collect())
    }

    /// Returns the key or value at this span of a text.
    pub(super) fn at(span: &Range<usize>, text: &str) -> Option<Self> {
        let (root, _) = DeTable::parse_recoverable(text);
        let mut path = Vec::new();
        find(root.get_ref(), span, &mut path).then_some(Self(path))
    }

    /// Returns the position of the key, or of the innermost table around it that the text has.
    pub(super) fn position(&self, text: &str) -> Option<usize> {
        let (root, _) = DeTable::parse_recoverable(text);
        let (mut table, mut position) = (root.get_ref(), None);
        for name in &self.0 {
            let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else {
                break;
            };
            position = Some(key.span().start);
            let DeValue::Table(inner) = value.get_ref() else { break };
            table = inner;
        }
        position
    }

    /// Returns the header of its table; none at the top.
    pub(super) fn table(&self) -> Option<String> {
        match self.0.as_slice() {
            [] | [_] => None,
            [tables @ .., _] => Some(header(tables)),
        }
    }

    /// Returns the place as the header of a table.
    pub(super) fn as_table(&self) -> String {
        header(&self.0)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(table) = self.table() {
            write!(f, "{table} ")?;
        }
        f.write_str(&self.0.last().map(|key| written(key)).unwrap_or_default())
    }
}

fn header(tables: &[String]) -> String {
    let names: Vec<_> = tables.iter().map(|key| written(key)).collect();
    format!("[{}]", names.join("."))
}

/// Writes a key, bare or quoted.
fn written(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { format!("{key:?}") }
}

fn find(table: &DeTable<'_>, span: &Range<usize>, path: &mut Vec<String>) -> bool {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        // Nested values first: an inline table encloses its keys, one with a header does not.
        let inside = match value.get_ref() {
            DeValue::Table(inner) => find(inner, span, path),
            DeValue::Array(items) => items.iter().any(|item| match item.get_ref() {
                DeValue::Table(inner) => find(inner, span, path),
                _ => false,
            }),
            _ => false,
        };
        let value = value.span();
        if inside || key.span() == *span || (value.start <= span.start && span.end <= value.end) {
            return true;
        }
        path.pop();
    }
    false
}
