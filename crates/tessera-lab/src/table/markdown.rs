//! The writer for Markdown.

use super::{Cell, Table};

/// Formats a table; without names of columns it is a note alone.
pub(crate) fn table(table: &Table) -> String {
    let Table { note, columns, rows, .. } = table;
    if columns.iter().all(|column| column.name.is_empty()) {
        return format!("{}\n", note.trim_end());
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    // Names and words to the left, numbers to the right.
    let alignment =
        table.columns().map(|(_, is_of_words)| if is_of_words { "---" } else { "---:" });
    let alignment = ["---"].into_iter().chain(alignment).map(str::to_owned).collect();
    let rows = rows.iter().flat_map(|row| row.names.iter().map(move |name| (name, row)));
    let rows = rows.map(|(name, row)| {
        let (text, is_file) = (escaped(&name.words()), name.is_file);
        let name = if is_file { format!("[{text}]({text})") } else { text };
        line([vec![name], row.cells.iter().map(cell).collect()].concat())
    });
    let first = columns.iter().take(1).map(|column| &column.name);
    let columns = first.chain(table.columns().map(|(column, _)| &column.name));
    let columns = columns.map(|name| escaped(name)).collect();
    format!("{note}\n\n{}{}{}", line(columns), line(alignment), rows.collect::<String>())
}

/// Formats a cell; a bad one is bold.
fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.text());
    if cell.is_bad { format!("**{text}**") } else { text }
}

/// Escapes a text from any source for a cell: no element and no mark, no link, no emphasis, no other cell, no other
/// line.
fn escaped(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Not by a backslash, which would leave a mark as it is.
            '&' => made.push_str("&amp;"),
            '<' => made.push_str("&lt;"),
            '>' => made.push_str("&gt;"),
            '\\' | '[' | ']' | '*' | '`' | '|' => made.extend(['\\', c]),
            c if c.is_control() => made.push(' '),
            c => made.push(c),
        }
    }
    made
}
