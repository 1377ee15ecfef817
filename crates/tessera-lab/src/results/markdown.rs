//! Tables as Markdown, and their places in a text.

use super::table::Table;

/// What stands where there is no report for a table.
const NOT_RECORDED: &str = "not recorded yet\n";
const END: &str = "<!-- end of table -->";

/// A table.
pub(super) fn of(table: Option<&Table>) -> String {
    let Some(Table { caption, columns, rows }) = table else { return NOT_RECORDED.to_owned() };
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    // Names to the left, numbers to the right.
    let mut alignment = vec!["---".to_owned()];
    alignment.resize(columns.len(), "---:".to_owned());
    let rows = rows.iter().map(|row| line(&[&[row.name.clone()][..], &row.cells].concat()));
    format!("{caption}\n\n{}{}{}", line(columns), line(&alignment), rows.collect::<String>())
}

/// A text with its tables made anew: what stands between `<!-- table NAME -->` and `<!-- end of table -->`.
/// Everything else stays. An error says which mark is wrong.
pub(super) fn fill(text: &str, tables: &[(&str, Option<Table>)]) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = text;
    let mut filled = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- table ") {
        let (name, after) = after.split_once(" -->").ok_or("a mark `<!-- table` has no end")?;
        let (_, table) = tables
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("no table is named {name}"))?;
        let (between, after) = after
            .split_once(END)
            .filter(|(between, _)| !between.contains("<!-- table "))
            .ok_or_else(|| format!("the table {name} has no `{END}`"))?;
        // What is between is made anew, whatever it is.
        let _ = between;
        let table = of(table.as_ref());
        made.push_str(&format!("{before}<!-- table {name} -->\n{table}{END}"));
        filled.push(name);
        rest = after;
    }
    made.push_str(rest);
    match tables.iter().find(|(name, _)| !filled.contains(name)) {
        Some((name, _)) => Err(format!("it has no `<!-- table {name} -->` with `{END}` below")),
        None => Ok(made),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("A caption.", &["option", "µs"]);
        table.row("(a) | x", ["1".to_owned()]);
        table
    }

    #[test]
    fn a_table_is_markdown() {
        let expected = "A caption.\n\n| option | µs |\n| --- | ---: |\n| (a) \\| x | 1 |\n";
        assert_eq!(of(Some(&table())), expected);
        assert_eq!(of(None), "not recorded yet\n");
    }

    #[test]
    fn only_what_is_between_the_marks_is_made_anew() {
        let text = "Text.\n<!-- table one -->\nold\n<!-- end of table -->\nMore.\n\
                    <!-- table two --><!-- end of table -->\n";
        let tables = [("one", Some(table())), ("two", None)];
        let made = fill(text, &tables).unwrap();
        assert!(made.starts_with("Text.\n<!-- table one -->\nA caption.\n"), "{made}");
        assert!(made.contains("| 1 |\n<!-- end of table -->\nMore.\n"), "{made}");
        assert!(made.ends_with("two -->\nnot recorded yet\n<!-- end of table -->\n"), "{made}");
        assert!(!made.contains("old"));
        assert_eq!(fill(&made, &tables).unwrap(), made, "making it again changes nothing");
    }

    #[test]
    fn wrong_marks_are_named() {
        let tables = [("one", None), ("two", None)];
        let wrong = |text: &str| fill(text, &tables).unwrap_err();
        let one = "<!-- table one --><!-- end of table -->";
        assert!(wrong(one).contains("table two"));
        assert!(wrong("<!-- table three --><!-- end of table -->").contains("named three"));
        assert!(wrong("<!-- table one -->").contains("table one has no"));
        assert!(wrong(&format!("<!-- table two -->{one}")).contains("table two has no"));
        assert!(wrong("<!-- table one").contains("no end"));
    }
}
