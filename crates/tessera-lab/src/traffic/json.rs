//! The report as a file: one line a flow, for each is a long list of small numbers.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::page;
use super::report::Report;
use crate::error::LabError;
use crate::experiment::Options;

/// Writes the report to where the options want it.
pub(super) fn write(options: &Options, report: &Report) -> Result<(), LabError> {
    let write = || {
        if let Some(destination) = &options.json {
            destination.write(&json(report)?)?;
        }
        if let Some(destination) = &options.page {
            destination.write(page::render(report)?.as_bytes())?;
        }
        Ok(())
    };
    write().map_err(LabError::system("writing the report"))
}

/// The report as JSON.
fn json(report: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    report.serialize(&mut Serializer::with_formatter(&mut json, Lines::default()))?;
    json.push(b'\n');
    Ok(json)
}

/// Lines for the report's fields and for what their lists have; what is deeper stays in its line.
#[derive(Default)]
struct Lines {
    depth: usize,
}

impl Lines {
    const DEEPEST: usize = 2;

    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(bracket)
    }

    fn item<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer, self.depth)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.line(writer, self.depth - 1)?;
        self.depth -= 1;
        writer.write_all(bracket)
    }

    /// A new line, where the present value has lines.
    fn line<W: ?Sized + Write>(&self, writer: &mut W, indent: usize) -> io::Result<()> {
        if self.depth > Self::DEEPEST {
            return Ok(());
        }
        writer.write_all(b"\n")?;
        (0..indent).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.item(writer, first)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn each_flow_of_the_report_is_a_line() {
        let report =
            json!({ "a": 1, "flows": [{ "b": [[1, 2], [3, 4]] }, { "c": {} }], "none": [] });
        let written = String::from_utf8(super::json(&report).unwrap()).unwrap();
        let flows = "[\n  {\"b\":[[1,2],[3,4]]},\n  {\"c\":{}}\n ]";
        assert_eq!(written, format!("{{\n \"a\":1,\n \"flows\":{flows},\n \"none\":[\n ]\n}}\n"));
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), report);
    }
}
