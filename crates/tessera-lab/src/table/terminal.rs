//! The writer for terminals. Rows come one by one, as they are measured, so that widths are those of the columns.

use super::{Cell, Column, Name, Row, Table};

/// Formats a whole table, whose columns are as wide as their contents.
pub(crate) fn table(of: &Table) -> String {
    let mut table = of.clone();
    for texts in of.rows.iter().flat_map(lines) {
        for (column, text) in table.columns.iter_mut().zip(texts) {
            column.width = column.width.max(text.chars().count());
        }
    }
    let rows = of.rows.iter().map(|of| row(&table, of));
    [head(&table)].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// Formats the title and the names of columns, each on as many lines as its width makes of it.
pub(crate) fn head(table: &Table) -> String {
    let names: Vec<_> = table.columns.iter().map(Column::lines).collect();
    let shown = table.columns.iter().zip(&names).filter(|(column, _)| !column.is_of_page);
    let height = shown.map(|(_, lines)| lines.len()).max().unwrap_or(0);
    let lines = (0..height).map(|line| {
        let of_column = |name: &Vec<String>| {
            let place = (line + name.len()).checked_sub(height);
            place.and_then(|place| name.get(place).cloned()).unwrap_or_default()
        };
        aligned(table, names.iter().map(of_column))
    });
    [format!("\n{}", table.title)].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Formats a row: a line for each of its names. A bad cell has a mark.
pub(crate) fn row(table: &Table, row: &Row) -> String {
    lines(row).map(|texts| aligned(table, texts.into_iter())).collect::<Vec<_>>().join("\n")
}

/// Formats the name of a row without cells.
pub(crate) fn name(table: &Table, name: &Name) -> String {
    aligned(table, texts(name))
}

/// Formats an explanation of terms.
pub(crate) fn legend(legend: &str) -> String {
    let indented =
        legend.lines().find_map(|line| line.find(|c| c != ' ').filter(|place| *place > 0));
    let indent = indented.unwrap_or(12);
    format!("{legend}\n{:<indent$}marks what a reader should not want", "!")
}

/// Returns the texts of each line of a row.
fn lines(row: &Row) -> impl Iterator<Item = Vec<String>> {
    let cell = |cell: &Cell| if cell.is_bad { format!("!{}", cell.text()) } else { cell.text() };
    row.names.iter().map(move |name| texts(name).chain(row.cells.iter().map(cell)).collect())
}

fn texts(name: &Name) -> impl Iterator<Item = String> {
    let details = name.details.iter().map(|(_, value)| value.clone());
    [name.text.clone()].into_iter().chain(details)
}

/// Names are to the left, cells to the right. One that is too long shifts the rest.
fn aligned(table: &Table, texts: impl Iterator<Item = String>) -> String {
    let columns = table.columns.iter().zip(texts).enumerate();
    let columns =
        columns.filter(|(_, (column, _))| !column.is_of_page).map(|(index, (column, text))| {
            let width = column.width();
            if index < table.names { format!("{text:<width$}") } else { format!("{text:>width$}") }
        });
    columns.collect::<Vec<_>>().join(" ")
}

impl Column {
    fn width(&self) -> usize {
        let words = self.name.split(' ').map(|word| word.chars().count());
        words.max().unwrap_or(0).max(self.width)
    }

    /// Divides the name into lines of this width.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.name.split(' ') {
            match lines.last_mut() {
                Some(line) if format!("{line} {word}").chars().count() <= self.width() => {
                    *line += &format!(" {word}");
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::cells;

    #[test]
    fn the_columns_of_a_row_are_under_their_names() {
        let mut table =
            Table::new("at 33 ms", "way:8 | key:6 || first byte, ms:10 | on pages alone:- | n:4");
        let name = Name::new("", "0rtt").with("key", "x25519");
        table.row(name, cells![12.5, 7.5, Cell::from(2_u64).bad_if(true)]);
        let expected = "\nat 33 ms\n                     first     \nway      key      byte, ms    n\n\
                        0rtt     x25519      12.50   !2";
        assert_eq!(super::table(&table), expected);
    }
}
