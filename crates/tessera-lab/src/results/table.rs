//! A table, before it is Markdown or a page.

/// Rows of numbers under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Its contents, in a sentence or two: units, which samples, how many.
    pub(super) caption: String,
    /// The first is that of the rows' names.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A row: its name, and a text for each column but the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// Whether the name is that of a file next to the text, which it links to.
    pub(super) is_file: bool,
    pub(super) cells: Vec<String>,
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty.
    pub(super) fn row(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = String>) {
        self.add(name.into(), false, cells);
    }

    /// Adds a row about a file next to the text.
    pub(super) fn file(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        self.add(name.to_owned(), true, cells);
    }

    fn add(&mut self, name: String, is_file: bool, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<_> = cells.into_iter().collect();
        cells.resize(self.columns.len().saturating_sub(1), String::new());
        self.rows.push(Row { name, is_file, cells });
    }

    /// It, or nothing if there is nothing in it.
    pub(super) fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}
