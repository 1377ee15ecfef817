//! A table before it is text. A terminal, Markdown and a page each have a writer for it.

pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod terminal;

use crate::numbers::{NOTHING, count, number, spread};
use crate::statistics::Median;

/// Rows under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// What it shows, in a line.
    pub(crate) title: String,
    /// Units, which samples, how many: in a sentence or two.
    pub(crate) note: String,
    /// The first is that of the rows' names.
    pub(crate) columns: Vec<Column>,
    /// How many columns are of names: in a terminal each detail has its own.
    pub(crate) names: usize,
    pub(crate) rows: Vec<Row>,
}

/// A column: its name, its least width in a terminal, and whether it is too much for one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) width: usize,
    pub(crate) is_of_page: bool,
}

/// A row, or several with equal cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) names: Vec<Name>,
    pub(crate) cells: Vec<Cell>,
    /// The cells in a sentence, which only a page has.
    pub(crate) sentence: Option<String>,
}

/// The name of a row, or of a strip in a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Name {
    /// For programs.
    pub(crate) key: String,
    pub(crate) text: String,
    /// What else distinguishes it: a label, and a value. In a terminal the column has the label.
    pub(crate) details: Vec<(&'static str, String)>,
    /// Whether it is that of a file next to the text, which it links to.
    pub(crate) is_file: bool,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: Value,
    /// Whether it shows what a reader should not want.
    pub(crate) is_bad: bool,
}

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Median(Median),
}

impl Table {
    /// Creates one with columns as in `way:8 | key:6 || first byte, ms:11 | n`: those before `||` are of the rows' names, or
    /// the first alone; a number is the least width in a terminal, and `-` keeps a column from it.
    pub(crate) fn new(title: impl Into<String>, columns: &str) -> Self {
        let (names, cells) = columns.split_once("||").unwrap_or(("", columns));
        let of = |columns: &str| columns.split('|').map(Column::of).collect::<Vec<_>>();
        let names = if names.is_empty() { Vec::new() } else { of(names) };
        let count = names.len().max(1);
        let columns = [names, of(cells)].concat();
        Self { title: title.into(), columns, names: count, ..Self::default() }
    }

    /// Creates one whose title is known elsewhere.
    pub(crate) fn with_note(note: impl Into<String>, columns: &str) -> Self {
        Self::new("", columns).note(note)
    }

    /// The same with more columns.
    pub(crate) fn and<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns.extend(names.into_iter().map(|name| Column::from(name.into())));
        self
    }

    /// The same with a note.
    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// The same with these rows.
    pub(crate) fn rows(self, rows: impl IntoIterator<Item = Row>) -> Self {
        Self { rows: rows.into_iter().collect(), ..self }
    }

    /// Adds a row. Missing cells are empty.
    pub(crate) fn row<C: Into<Cell>>(
        &mut self,
        name: impl Into<Name>,
        cells: impl IntoIterator<Item = C>,
    ) {
        let mut row = Row::new(name, cells);
        row.cells.resize(self.columns.len() - self.names, "".into());
        self.rows.push(row);
    }

    /// Returns the texts of the row with this name.
    #[cfg(test)]
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let names = || self.rows.iter().map(|row| row.names[0].words());
        let place = names().position(|it| it == name);
        let place =
            place.unwrap_or_else(|| panic!("no {name} among {:?}", names().collect::<Vec<_>>()));
        self.rows[place].cells.iter().map(Cell::text).collect()
    }

    /// It, or nothing if there is nothing in it.
    pub(crate) fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }

    /// The same without columns in which no row has anything.
    fn without_empty_columns(&self) -> Self {
        let mut table = self.clone();
        let is_empty = |cell: &Cell| ["", NOTHING].contains(&&*cell.text());
        for index in (0..self.columns.len() - self.names).rev() {
            let mut cells = self.rows.iter().filter_map(|row| row.cells.get(index));
            if cells.all(is_empty) && !self.rows.is_empty() {
                table.columns.remove(self.names + index);
                for row in table.rows.iter_mut().filter(|row| index < row.cells.len()) {
                    row.cells.remove(index);
                }
            }
        }
        table
    }

    /// Returns the columns of the cells, each with whether it has words rather than numbers.
    fn columns(&self) -> impl Iterator<Item = (&Column, bool)> {
        let is_number =
            |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c));
        self.columns.iter().skip(self.names).enumerate().map(move |(index, column)| {
            let texts = self.rows.iter().filter_map(|row| row.cells.get(index)).map(Cell::text);
            let mut texts = texts.filter(|text| !text.is_empty() && text != NOTHING).peekable();
            (column, texts.peek().is_some() && !texts.any(|text| is_number(&text)))
        })
    }
}

impl Row {
    pub(crate) fn new<C: Into<Cell>>(
        name: impl Into<Name>,
        cells: impl IntoIterator<Item = C>,
    ) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        Self { names: vec![name.into()], cells, sentence: None }
    }
}

impl Name {
    pub(crate) fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { key: key.into(), text: text.into(), ..Self::default() }
    }

    /// The same with another detail.
    pub(crate) fn with(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.details.push((label, value.into()));
        self
    }

    /// That of a file next to the text.
    pub(crate) fn file(name: &str) -> Self {
        Self { is_file: true, ..name.into() }
    }

    /// Returns the details that it has, each in words.
    fn details(&self) -> Vec<String> {
        let there = self.details.iter().filter(|(_, value)| value != NOTHING);
        there.map(|(label, value)| format!("{label} {value}").trim().to_owned()).collect()
    }

    /// Returns it in words.
    pub(crate) fn words(&self) -> String {
        [vec![self.text.clone()], self.details()].concat().join(", ")
    }
}

impl Cell {
    /// The same, and bad if this is so.
    pub(crate) fn bad_if(self, is_bad: bool) -> Self {
        Self { is_bad, ..self }
    }

    /// Returns its text, without whether it is bad.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            Value::Median(median) => spread(median),
        }
    }
}

impl Column {
    fn of(text: &str) -> Self {
        let text = text.trim();
        match text.rsplit_once(':').map(|(name, width)| (name, width.parse(), width)) {
            Some((name, Ok(width), _)) => Self { width, ..name.to_owned().into() },
            Some((name, _, "-")) => Self { is_of_page: true, ..name.to_owned().into() },
            _ => text.to_owned().into(),
        }
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Self { name, width: 0, is_of_page: false }
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new("", text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::new("", text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { value: Value::Text(text), is_bad: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Median> for Cell {
    fn from(median: Median) -> Self {
        Self { value: Value::Median(median), is_bad: false }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        number(value).into()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| NOTHING.into(), Into::into)
    }
}

macro_rules! counts {
    ($($number:ty),*) => {
        $(impl From<$number> for Cell {
            fn from(value: $number) -> Self {
                count(value).into()
            }
        })*
    };
}
counts!(u32, u64, i64, usize);

/// Cells of unlike values.
macro_rules! cells {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::table::Cell::from($value)),*]
    };
}
pub(crate) use cells;
