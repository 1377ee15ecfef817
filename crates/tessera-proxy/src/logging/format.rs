//! The format of lines.

use std::fmt::{self, Debug, Write};
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::LogFormat;
use super::limit::{Decision, Limits};

/// Writes an event as a line, or omits it. Spans aren't shown: an event contains all that its reader needs.
pub(super) struct LineFormat {
    json: Option<Format<Json>>,
    limits: Arc<Limits>,
}

impl LineFormat {
    pub(super) fn new(format: LogFormat, limits: Arc<Limits>) -> Self {
        let json = Format::default().json().flatten_event(true);
        let json = json.with_current_span(false).with_span_list(false);
        Self { json: (format == LogFormat::Json).then_some(json), limits }
    }
}

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match self.limits.decide(event.metadata()) {
            Decision::LeaveOut => return Ok(()),
            Decision::Write { left_out: 0 } => (),
            Decision::Write { left_out } => {
                let format = if self.json.is_some() { LogFormat::Json } else { LogFormat::Text };
                writer.write_str(&left_out_line(format, event.metadata(), left_out))?;
            }
        }
        match &self.json {
            Some(json) => json.format_event(context, writer, event),
            None => text_line(writer, event),
        }
    }
}

fn text_line(mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
    SystemTime.format_time(&mut writer)?;
    write!(writer, " {:>5} ", event.metadata().level())?;
    let mut fields = TextFields::default();
    event.record(&mut fields);
    writeln!(writer, "{}{}", fields.message, fields.others)
}

/// The message and the fields of an event, on one line whatever they contain.
#[derive(Default)]
struct TextFields {
    message: String,
    others: String,
}

impl TextFields {
    fn add(&mut self, field: &Field, value: &str) {
        // A String accepts everything.
        if field.name() == "message" {
            self.message.extend(value.chars().map(Printable::from).flat_map(Printable::chars));
            return;
        }
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '"' && c != '=';
        let _ = if !value.is_empty() && value.chars().all(is_plain) {
            write!(self.others, " {}={value}", field.name())
        } else {
            // Quoted and escaped, so that no value looks like further fields.
            write!(self.others, " {}={value:?}", field.name())
        };
    }
}

impl Visit for TextFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, &format!("{value:?}"));
    }
}

/// Displays a character, escaped if it would command a terminal or begin a line.
struct Printable(char);

impl From<char> for Printable {
    fn from(c: char) -> Self {
        Self(c)
    }
}

impl Printable {
    fn chars(self) -> impl Iterator<Item = char> {
        let escaped = self.0.is_control().then(|| self.0.escape_default());
        let itself = escaped.is_none().then_some(self.0);
        escaped.into_iter().flatten().chain(itself)
    }
}

/// Formats the notice about lines omitted from one place in the code.
fn left_out_line(format: LogFormat, of: &Metadata<'_>, count: u64) -> String {
    let message = "lines like the next one were left out: there were too many";
    let place = format!("{}:{}", of.module_path().unwrap_or(of.target()), of.line().unwrap_or(0));
    notice(format, message, "left_out", count, &format!("place={place}"), &[("place", &place)])
}

/// Formats the notice about lines lost to a slow reader.
pub(super) fn lost_text(count: u64) -> Vec<u8> {
    lost(LogFormat::Text, count)
}

/// The same, as JSON.
pub(super) fn lost_json(count: u64) -> Vec<u8> {
    lost(LogFormat::Json, count)
}

fn lost(format: LogFormat, count: u64) -> Vec<u8> {
    let message = "lines are missing here: the reader was too slow";
    notice(format, message, "lost", count, "", &[]).into_bytes()
}

/// Formats a line of the log about itself. Nothing in it needs an escape.
fn notice(
    format: LogFormat,
    message: &str,
    name: &str,
    count: u64,
    text_end: &str,
    json_end: &[(&str, &str)],
) -> String {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    match format {
        LogFormat::Text => {
            let line = format!("{time}  WARN {message} {name}={count} {text_end}");
            format!("{}\n", line.trim_end())
        }
        LogFormat::Json => {
            let end: String =
                json_end.iter().map(|(key, value)| format!(",\"{key}\":\"{value}\"")).collect();
            format!(
                "{{\"timestamp\":\"{time}\",\"level\":\"WARN\",\"message\":\"{message}\",\
                 \"{name}\":{count}{end},\"target\":\"{}\"}}\n",
                module_path!()
            )
        }
    }
}
