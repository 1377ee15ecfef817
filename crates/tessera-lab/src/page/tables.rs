//! Tables of the exact numbers, also for readers who cannot see figures, and their meaning.

use std::fmt::Write;

use super::words;
use crate::statistics::Median;

/// A row of a table.
pub(crate) struct Row {
    /// The row's key, for programs.
    pub(crate) key: String,
    /// Its heading for people, as HTML.
    pub(crate) head: String,
    /// The other cells, as HTML.
    pub(crate) cells: Vec<String>,
}

/// Returns a wide table of numbers, which scrolls by itself if it is wider than the page, by keyboard too. On a phone
/// it has no head, and each number is below its row's head with the name of its column.
pub(crate) fn numbers(caption: &str, columns: &[&str], rows: &[Row]) -> String {
    let mut body = String::new();
    for Row { key, head, cells } in rows {
        let labels = columns.iter().skip(1).chain(std::iter::repeat(&""));
        let cells = cells.iter().zip(labels);
        let cells = cells.map(|(cell, label)| format!("<td data-label=\"{label}\">{cell}</td>"));
        let cells = cells.collect::<String>();
        // Writing to a string does not fail.
        let _ = writeln!(body, "<tr data-row=\"{key}\"><th scope=\"row\">{head}</th>{cells}</tr>");
    }
    format!(
        "<div class=\"scrolls\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">\n\
         <table>\n<caption>{caption}</caption>\n{}\n<tbody>\n{body}</tbody>\n</table>\n</div>\n",
        thead(columns.iter())
    )
}

/// Formats a median and its interval, as a cell.
pub(crate) fn cell(median: Option<Median>) -> String {
    let Some(Median { value, interval }) = median else { return words::NOTHING.to_owned() };
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!("<br><small>{}–{}</small>", words::short(low), words::short(high))
    });
    format!("{}{interval}", words::short(value))
}

/// Returns a table to be read: a few words per row, and a sentence as its last cell. On a phone it has no head, and
/// each cell has the label of its column.
pub(crate) fn sentences(columns: &[&str], labels: &[&str], rows: &[Row]) -> String {
    let mut body = String::new();
    for Row { key, head, cells } in rows {
        let _ = write!(body, "<tr data-verdict=\"{key}\"><th scope=\"row\">{head}</th>");
        let Some((sentence, cells)) = cells.split_last() else { continue };
        for (label, cell) in labels.iter().zip(cells) {
            let _ = write!(body, "<td data-label=\"{label}\">{cell}</td>");
        }
        let _ = writeln!(body, "<td class=\"sentence\">{sentence}</td></tr>");
    }
    format!(
        "<table class=\"verdicts\">\n{}\n<tbody>\n{body}</tbody>\n</table>\n",
        thead(columns.iter().chain(["in words"].iter()))
    )
}

fn thead<'a>(columns: impl Iterator<Item = &'a &'a str>) -> String {
    let columns = columns.map(|name| format!("<th scope=\"col\">{name}</th>"));
    format!("<thead><tr>{}</tr></thead>", columns.collect::<String>())
}
