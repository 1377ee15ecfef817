//! The writer for pages. A wide table scrolls by itself if it is wider than the page, by keyboard too. On a phone it has
//! no head, and each cell is below its row's name with the name of its column.

use std::fmt::Write;

use super::{Cell, Name, Row, Table, Value};
use crate::numbers::number;

/// Formats a table: of numbers, or to be read, with a sentence in each row.
pub(crate) fn table(table: &Table) -> String {
    let table = &table.without_empty_columns();
    let is_read = table.rows.iter().any(|row| row.sentence.is_some());
    let mut content = String::new();
    for row in &table.rows {
        // Writing to a string does not fail.
        let _ = writeln!(content, "<tr>{}{}</tr>", names(row, is_read), cells(table, row));
    }
    let mut head: Vec<_> = table
        .columns()
        .map(|(column, is_of_words)| {
            format!("<th scope=\"col\"{}>{}</th>", class(is_of_words), escaped(&column.name))
        })
        .collect();
    let first = table.columns.first().map_or("", |column| column.name.as_str());
    head.insert(0, format!("<th scope=\"col\" class=\"words\">{}</th>", escaped(first)));
    if is_read {
        head.push("<th scope=\"col\" class=\"words\">in words</th>".to_owned());
    }
    let title = escaped(&table.title);
    let note = match &*table.note {
        "" => String::new(),
        // In the caption it would be as wide as the table: too wide on a phone, or too narrow.
        note => format!("<p class=\"note\">{}</p>\n", escaped(note)),
    };
    let whole = format!(
        "<table>\n<caption>{title}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{content}</tbody>\n</table>\n",
        head.concat()
    );
    if is_read {
        return format!("{note}<div class=\"verdicts\">\n{whole}</div>\n");
    }
    format!(
        "{note}<div class=\"scrolls\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\">\n{whole}</div>\n"
    )
}

/// Formats the names of a row, each with its key.
fn names(row: &Row, is_read: bool) -> String {
    let kind = if is_read { "verdict" } else { "row" };
    let names = row
        .names
        .iter()
        .map(|it| format!("<div data-{kind}=\"{}\">{}</div>", escaped(&it.key), name(it)));
    format!("<th scope=\"row\">{}</th>", names.collect::<String>())
}

/// Formats a name: what distinguishes it is below it, and breaks between details only, unless one is a sentence.
pub(crate) fn name(name: &Name) -> String {
    const SENTENCE: usize = 30;
    let text = escaped(&name.text);
    let details = name.details().into_iter().map(|detail| match detail.chars().count() {
        ..SENTENCE => format!("<i>{}</i>", escaped(&detail)),
        _ => escaped(&detail),
    });
    match &*details.collect::<Vec<_>>().join(", ") {
        _ if name.is_file => format!("<a href=\"{text}\">{text}</a>"),
        "" => text,
        details => format!("{text} <span>{details}</span>"),
    }
}

fn cells(table: &Table, row: &Row) -> String {
    let cells = row.cells.iter().zip(table.columns()).map(|(cell, (column, is_of_words))| {
        let (label, class) = (escaped(&column.name), class(is_of_words));
        format!("<td{class} data-label=\"{label}\">{}</td>", content(cell))
    });
    let sentence =
        row.sentence.iter().map(|it| format!("<td class=\"sentence\">{}</td>", escaped(it)));
    cells.chain(sentence).collect()
}

fn class(is_of_words: bool) -> &'static str {
    if is_of_words { " class=\"words\"" } else { "" }
}

/// Formats a cell: a median has its interval below it.
fn content(cell: &Cell) -> String {
    let text = match &cell.value {
        Value::Text(text) => escaped(text),
        Value::Median(median) => {
            let interval = median.interval.map_or_else(String::new, |(low, high)| {
                format!("<br><small>{}–{}</small>", number(low), number(high))
            });
            number(median.value) + &interval
        }
    };
    if cell.is_bad { format!("<b class=\"bad\">{text}</b>") } else { text }
}

/// Formats an explanation of terms, as a terminal shows it: a term, two spaces or more and a text, whose further lines are
/// indented.
pub(crate) fn legend(legend: &str) -> String {
    let mut list = String::new();
    for line in legend.trim().lines() {
        match line.split_once("  ") {
            Some(("", more)) => list += &format!(" {}", escaped(more.trim())),
            Some((term, text)) => {
                list += &format!("<dt>{}</dt><dd>{}", escaped(term), escaped(text.trim()));
            }
            None => list += &format!("<dt>{}</dt><dd>", escaped(line)),
        }
    }
    let list = list.replace("<dt>", "</dd>\n<dt>");
    format!("<dl class=\"terms\">{}</dd>\n</dl>\n", list.trim_start_matches("</dd>"))
}

/// Formats a text as HTML, in which no line ends before a percent sign.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace(" %", "\u{a0}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Median;
    use crate::table::cells as cells_of;

    #[test]
    fn text_on_a_page_is_escaped() {
        assert_eq!(escaped("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
        let mut hostile = Table::new("<i>", "<i> | <i>").note("<i>");
        hostile.row(Name::new("<i>", "<i>"), ["<i>"]);
        assert!(!table(&hostile).contains("<i>"));
    }

    #[test]
    fn a_cell_shows_its_interval_and_whether_it_is_bad() {
        let mut of = Table::new("title", "way | ms | reached");
        let median = Median { value: 2_000.5, interval: Some((1.0, 3_000.0)) };
        of.row(
            Name::new("key", "0rtt").with("key", "x").with("syn", "–"),
            cells_of![median, Cell::from("no").bad_if(true)],
        );
        let page = table(&of);
        for part in [
            "<div data-row=\"key\">0rtt <span><i>key x</i></span></div>",
            "<td data-label=\"ms\">2,000<br><small>1.000–3,000</small></td>",
            "<td class=\"words\" data-label=\"reached\"><b class=\"bad\">no</b></td>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        of.rows[0].sentence = Some("It failed.".to_owned());
        assert!(table(&of).contains("data-verdict=\"key\""));
    }
}
