//! Where facts go: lines for people, objects for programs.

mod queue;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::error::ProgramError;
use crate::setting::SettingFile;
use queue::Queue;

/// Writes facts, one object or line each; the file `-` is standard output. Whoever stopped reading them
/// doesn't stop the connections.
pub struct Report {
    json: Option<Sink>,
    /// Lines for people.
    lines: Option<Sink>,
}

/// Where lines go.
enum Sink {
    /// A client waits for its reader: it has no other connections.
    Here(Mutex<Box<dyn Write + Send>>),
    /// A server waits for nobody.
    Queued(Queue),
}

impl Report {
    /// A client's, which waits for its reader. With `json` on standard output there are no lines for people there; `quiet` leaves
    /// them out everywhere.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn of_client(
        json: Option<SettingFile<'_>>,
        quiet: bool,
        lines: impl Write + Send + 'static,
    ) -> Result<Self, ProgramError> {
        let here = |to: Option<Box<dyn Write + Send>>| to.map(|to| Sink::Here(Mutex::new(to)));
        let lines: Option<Box<dyn Write + Send>> =
            if has_lines(json, quiet) { Some(Box::new(lines)) } else { None };
        Ok(Self { json: here(open(json)?), lines: here(lines) })
    }

    /// A server's, with lines for people on standard output, as for a client's. It never
    /// waits: up to 1 MiB waits for each reader, and a line says how many were left out.
    ///
    /// # Errors
    /// If the file can't be written, or there can be no thread.
    pub fn of_server(json: Option<SettingFile<'_>>, quiet: bool) -> Result<Self, ProgramError> {
        let queued = |queue: io::Result<Queue>| {
            queue.map(Sink::Queued).map_err(|error| ProgramError::failed("the report", error))
        };
        let lines = has_lines(json, quiet).then(|| queued(Queue::new(io::stdout(), missed_lines)));
        let json = open(json)?.map(|to| queued(Queue::new(to, missed_objects)));
        Ok(Self { json: json.transpose()?, lines: lines.transpose()? })
    }

    /// Tells a fact both ways.
    pub fn tell(&self, fact: &(impl Serialize + Display)) {
        self.object(fact);
        self.line(fact);
    }

    /// Tells a fact to programs alone.
    pub fn object(&self, object: &impl Serialize) {
        if let Some(json) = &self.json {
            json.write(object_line(object));
        }
    }

    /// Tells a line to people alone.
    pub fn line(&self, line: &impl Display) {
        if let Some(lines) = &self.lines {
            lines.write(format!("{line}\n").into_bytes());
        }
    }

    /// The last that a server does: gives readers a moment for what they were told.
    pub fn finish(&self) {
        for sink in [&self.json, &self.lines].into_iter().flatten() {
            if let Sink::Queued(queue) = sink {
                queue.finish(LAST_LINES);
            }
        }
    }
}

/// How long a server's end waits for readers.
const LAST_LINES: Duration = Duration::from_secs(1);

impl Sink {
    fn write(&self, line: Vec<u8>) {
        match self {
            Self::Here(to) => {
                let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = to.write_all(&line).and_then(|()| to.flush());
            }
            Self::Queued(queue) => queue.push(line),
        }
    }
}

fn open(json: Option<SettingFile<'_>>) -> Result<Option<Box<dyn Write + Send>>, ProgramError> {
    Ok(match json {
        None => None,
        Some(file) if is_standard_output(file) => Some(Box::new(io::stdout())),
        Some(file) => {
            let opened = OpenOptions::new().append(true).create(true).open(file.path);
            Some(Box::new(opened.map_err(|error| ProgramError::output(file, &error))?))
        }
    })
}

fn has_lines(json: Option<SettingFile<'_>>, quiet: bool) -> bool {
    !quiet && !json.is_some_and(is_standard_output)
}

fn is_standard_output(file: SettingFile<'_>) -> bool {
    file.path == Path::new("-")
}

fn object_line(object: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(object).unwrap_or_default();
    line.push(b'\n');
    line
}

/// In place of objects that nobody read in time.
#[derive(Serialize)]
struct Missed {
    event: &'static str,
    count: u64,
}

fn missed_objects(count: u64) -> Vec<u8> {
    object_line(&Missed { event: "missed", count })
}

fn missed_lines(count: u64) -> Vec<u8> {
    format!("{count} lines are missing here: nobody read them in time\n").into_bytes()
}
