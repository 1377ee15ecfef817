//! Reports as JSON, for other programs, and short enough to be kept: one sample a line, or one column of samples.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Nesting depth up to which lines are broken, for one line per sample: a report has rows, each with a list of samples.
pub(crate) const SAMPLES: usize = 4;
/// The same for one line per row.
pub(crate) const ROWS: usize = 2;

/// Returns a report as JSON, with lines broken down to this depth.
pub(super) fn json(report: &impl Serialize, broken: usize) -> io::Result<Vec<u8>> {
    let mut json = Vec::new();
    let format = BrokenLines { pretty: PrettyFormatter::new(), broken, depth: 0 };
    report.serialize(&mut Serializer::with_formatter(&mut json, format))?;
    json.push(b'\n');
    Ok(json)
}

/// Breaks lines down to a depth, and no deeper.
struct BrokenLines {
    pretty: PrettyFormatter<'static>,
    broken: usize,
    depth: usize,
}

impl BrokenLines {
    fn is_broken(&self) -> bool {
        self.depth <= self.broken
    }
}

impl Formatter for BrokenLines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_broken() {
            self.pretty.begin_array(out)
        } else {
            CompactFormatter.begin_array(out)
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let is_broken = self.is_broken();
        self.depth -= 1;
        if is_broken { self.pretty.end_array(out) } else { CompactFormatter.end_array(out) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.is_broken() {
            self.pretty.begin_array_value(out, first)
        } else {
            CompactFormatter.begin_array_value(out, first)
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_broken() { self.pretty.end_array_value(out) } else { Ok(()) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_broken() {
            self.pretty.begin_object(out)
        } else {
            CompactFormatter.begin_object(out)
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let is_broken = self.is_broken();
        self.depth -= 1;
        if is_broken { self.pretty.end_object(out) } else { CompactFormatter.end_object(out) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.is_broken() {
            self.pretty.begin_object_key(out, first)
        } else {
            CompactFormatter.begin_object_key(out, first)
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_broken() {
            self.pretty.begin_object_value(out)
        } else {
            CompactFormatter.begin_object_value(out)
        }
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_broken() { self.pretty.end_object_value(out) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json as value};

    use super::*;

    #[test]
    fn a_report_has_one_sample_a_line() {
        let sample = value!({ "us": 1.5, "of": [1, { "deep": [] }] });
        let report = value!({
            "experiment": "any", "none": [], "rows": [{ "name": {}, "samples": [sample, sample] }]
        });
        let written = String::from_utf8(json(&report, SAMPLES).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), report);
        let samples = written.lines().filter(|line| line.contains("\"us\":1.5")).count();
        assert_eq!(samples, 2, "{written}");
        let line = "        {\"of\":[1,{\"deep\":[]}],\"us\":1.5}";
        assert!(written.contains(&format!("{line},\n{line}\n")), "{written}");
        let written = String::from_utf8(json(&report, ROWS).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), report);
        assert_eq!(
            written.lines().filter(|line| line.contains("\"us\":1.5")).count(),
            1,
            "{written}"
        );
    }
}
