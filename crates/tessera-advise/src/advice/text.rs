//! Formats advice for people.

use std::fmt;

use crate::facts::Application;

use super::measurements::{Measurement, Number, Unit};
use super::numbers::{milliseconds, rate};
use super::{Advice, Alternative, Line};

/// The width of the text.
const WIDTH: usize = 100;

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.summary {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "\nWhy")?;
        for line in &self.lines {
            line.fmt(f)?;
        }
        writeln!(f, "\nNot the answer")?;
        for other in &self.others {
            other.fmt(f)?;
        }
        match self.application {
            Application::Sepp => writeln!(f, "\nFor a SEPP (docs/sepp.md)")?,
            Application::Tunnel => writeln!(f, "\nFor a tunnel (docs/tunnel.md)")?,
            Application::Own => writeln!(f, "\nFor a program of your own (docs/library.md)")?,
        }
        for line in &self.settings {
            match line.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, "  {line}")?,
            }
        }
        writeln!(f, "\nMeasured")?;
        for source in &self.sources {
            writeln!(f, "  {source}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.about, self.answer)?;
        let facts = match self.facts.is_empty() {
            true => String::new(),
            false => format!(" [{}]", self.facts.join(", ")),
        };
        f.write_str(&paragraph(&format!("because {}{facts}", self.reason), "  "))?;
        costs(f, &self.cost)
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.ruled_out_by.map(|fact| format!(" [{fact}]")).unwrap_or_default();
        f.write_str(&paragraph(&format!("{}: {}{by}", self.way, self.reason), "  "))?;
        costs(f, &self.cost)
    }
}

fn costs(f: &mut fmt::Formatter<'_>, costs: &[Measurement]) -> fmt::Result {
    costs.iter().try_for_each(|cost| f.write_str(&paragraph(&cost.to_string(), "    ")))
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.numbers.iter().map(|number| self.in_words(number)).collect();
        let words = numbers.join(", ");
        if let Some(case) = self.when {
            write!(f, "{case}: ")?;
        }
        match (self.way, self.against) {
            (Some(way), Some(other)) => write!(f, "{way} against {other}: {words}")?,
            (None, Some(other)) => write!(f, "against {other}: {words}")?,
            (Some(way), None) => write!(f, "{way}: {words}")?,
            (None, None) => f.write_str(&words)?,
        }
        f.write_str(&self.behind())
    }
}

impl Measurement {
    fn in_words(&self, Number { what, value, unit, uncertainty }: &Number) -> String {
        let is_difference = self.against.is_some() && *unit != Unit::Reconnections;
        let sign = if is_difference && *value >= 0.0 { "+" } else { "" };
        let value = match unit {
            Unit::Us => milliseconds(*value),
            Unit::UsOfWaiting => {
                return format!("{what} what is worth {sign}{} of waiting", milliseconds(*value));
            }
            Unit::Bytes => format!("{value:.0} bytes"),
            Unit::Executions => format!("{value:.0}×"),
            Unit::Reconnections => rate(*value),
        };
        let off = uncertainty.map(|off| format!(" ± {}", milliseconds(off))).unwrap_or_default();
        format!("{what} {sign}{value}{off}")
    }
}

/// Wraps a text into lines, each after `indent`.
pub(crate) fn paragraph(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from(indent);
    for word in text.split_whitespace() {
        let is_empty = line.trim().is_empty();
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from(indent);
        } else if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_between_words() {
        let text = paragraph(&"word ".repeat(40), "  ");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.lines().all(|line| line.starts_with("  word") && line.len() <= WIDTH),
            "{text}"
        );
        assert_eq!(paragraph("", "  "), "  \n");
    }
}
