//! The places of tables in a text.

use std::collections::HashSet;

use crate::table::{Table, markdown};

/// In place of a table without a report.
const NOT_RECORDED: &str = "not recorded yet\n";
pub(super) const END: &str = "<!-- end of table -->";

/// Formats a table, if there is one.
pub(super) fn of(table: Option<&Table>) -> String {
    table.map_or_else(|| NOT_RECORDED.to_owned(), markdown::table)
}

/// Replaces the tables in a text: what is between `<!-- table NAME -->` and `<!-- end of table -->`. The rest stays. An
/// error names the mark that is wrong. `filled` gets the names; a table has one place among all texts.
pub(super) fn fill<'a>(
    text: &str,
    tables: &[(&'a str, Option<Table>)],
    filled: &mut HashSet<&'a str>,
) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!-- table ") {
        let (name, after) = after.split_once(" -->").ok_or("a mark `<!-- table` has no end")?;
        let (name, table) = tables
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| format!("no table is named {name}"))?;
        let (between, after) = after
            .split_once(END)
            .filter(|(between, _)| !between.contains("<!-- table "))
            .ok_or_else(|| format!("the table {name} has no `{END}`"))?;
        // The old table is replaced, whatever it is.
        let _ = between;
        let table = of(table.as_ref());
        made.push_str(&format!("{before}<!-- table {name} -->\n{table}{END}"));
        if !filled.insert(*name) {
            return Err(format!("the table {name} has another place before"));
        }
        rest = after;
    }
    made.push_str(rest);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Name};

    fn filled(text: &str, tables: &[(&str, Option<Table>)]) -> Result<String, String> {
        fill(text, tables, &mut HashSet::new())
    }

    fn table() -> Table {
        let mut table = Table::with_note("A caption.", "option | µs");
        table.row("(a) | x", ["1"]);
        table
    }

    #[test]
    fn a_table_is_markdown() {
        let expected = "A caption.\n\n| option | µs |\n| --- | ---: |\n| (a) \\| x | 1 |\n";
        assert_eq!(of(Some(&table())), expected);
        let mut table = table().and(["reached"]);
        table.rows[0].cells.push(Cell::from("no").bad_if(true));
        assert!(of(Some(&table)).ends_with("| ---: | --- |\n| (a) \\| x | 1 | **no** |\n"));
        assert_eq!(of(None), "not recorded yet\n");
    }

    /// Reports are untrusted: their text stays text.
    #[test]
    fn words_of_a_report_are_neither_marks_nor_elements_nor_links() {
        let hostile = "<script>*x*</script> [a](b) `c` \\ & d | e\r\nf <!-- end of table --> <!-- table one -->";
        let mut table = Table::with_note("A caption.", "reason | `µs`");
        table.row(hostile, [hostile]);
        table.row(Name::file("one.json"), [""]);
        let made = of(Some(&table));
        let row = "&lt;script&gt;\\*x\\*&lt;/script&gt; \\[a\\](b) \\`c\\` \\\\ &amp; d \\| e  f \
                   &lt;!-- end of table --&gt; &lt;!-- table one --&gt;";
        assert!(made.contains(&format!("| {row} | {row} |\n")), "{made}");
        assert!(made.contains("| reason | \\`µs\\` |\n"), "{made}");
        assert!(made.ends_with("| [one.json](one.json) |  |\n"), "{made}");
        let tables = [("one", Some(table))];
        let text = "<!-- table one --><!-- end of table -->\n";
        let once = filled(text, &tables).unwrap();
        assert_eq!(filled(&once, &tables).unwrap(), once, "making it again changes nothing");
    }

    #[test]
    fn only_the_text_between_the_marks_is_replaced() {
        let text = "Text.\n<!-- table one -->\nold\n<!-- end of table -->\nMore.\n\
                    <!-- table two --><!-- end of table -->\n";
        let tables = [("one", Some(table())), ("two", None)];
        let made = filled(text, &tables).unwrap();
        assert!(made.starts_with("Text.\n<!-- table one -->\nA caption.\n"), "{made}");
        assert!(made.contains("| 1 |\n<!-- end of table -->\nMore.\n"), "{made}");
        assert!(made.ends_with("two -->\nnot recorded yet\n<!-- end of table -->\n"), "{made}");
        assert!(!made.contains("old"));
        assert_eq!(filled(&made, &tables).unwrap(), made, "making it again changes nothing");
    }

    #[test]
    fn wrong_marks_are_named() {
        let tables = [("one", None), ("two", None)];
        let wrong = |text: &str| filled(text, &tables).unwrap_err();
        let one = "<!-- table one --><!-- end of table -->";
        assert!(wrong(&one.repeat(2)).contains("table one has another place"));
        assert!(wrong("<!-- table three --><!-- end of table -->").contains("named three"));
        assert!(wrong("<!-- table one -->").contains("table one has no"));
        assert!(wrong(&format!("<!-- table two -->{one}")).contains("table two has no"));
        assert!(wrong("<!-- table one").contains("no end"));
    }
}
