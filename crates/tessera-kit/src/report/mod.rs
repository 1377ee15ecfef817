//! Destinations of facts: lines for people, objects for programs.

mod fact;
mod line;
mod queue;

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use self::line::{LineWriter, standard_output};
use crate::error::ProgramError;
use crate::setting::SettingFile;

pub use self::fact::{FACTS_VERSION, Fact, FactLine};
pub use self::queue::Queue;

/// Writes facts, one object or line each; the file `-` is standard output. A reader that stops reading
/// doesn't stop the connections; if facts can't be written, [`finish`](Self::finish) reports it.
pub struct Report {
    json: Option<Sink>,
    /// Lines for people.
    lines: Option<Sink>,
}

/// The destination of lines, with its name.
struct Sink {
    name: String,
    way: Way,
}

enum Way {
    /// A client waits for its reader, because it has no other connections.
    Here(Mutex<DirectOutput>),
    /// A server never waits for a reader.
    Queued(Queue),
}

struct DirectOutput {
    to: LineWriter<Box<dyn Write + Send>>,
    failed: Option<String>,
}

impl Report {
    /// Makes a client's report, which waits for its reader. With `json` on standard output, lines for people
    /// are off there; `quiet` turns them off everywhere.
    ///
    /// # Errors
    /// Returns an error if the file can't be written.
    pub fn of_client(
        json: Option<SettingFile<'_>>,
        quiet: bool,
        lines: impl Write + Send + 'static,
    ) -> Result<Self, ProgramError> {
        let lines: Option<Box<dyn Write + Send>> =
            if has_lines(json, quiet) { Some(Box::new(lines)) } else { None };
        Ok(Self {
            json: open(json)?.map(|(name, to)| Sink::here(name, Box::new(to))),
            lines: lines.map(|to| Sink::here(LINES.to_owned(), to)),
        })
    }

    /// Makes a server's report, with lines for people on standard output, as for a client. It never blocks:
    /// up to 1 MiB is queued for each reader, and a line reports how many were dropped.
    ///
    /// # Errors
    /// Returns an error if the file can't be written, or no thread can be started.
    pub fn of_server(json: Option<SettingFile<'_>>, quiet: bool) -> Result<Self, ProgramError> {
        let lines = if has_lines(json, quiet) {
            let to = standard_output().map_err(|error| ProgramError::failed(LINES, error))?;
            Some(Sink::queued(LINES.to_owned(), to, missed_lines)?)
        } else {
            None
        };
        let json = open(json)?.map(|(name, to)| Sink::queued(name, to, missed_objects));
        Ok(Self { json: json.transpose()?, lines })
    }

    /// Reports a fact both ways.
    pub fn print(&self, fact: &(impl Fact + Display)) {
        self.object(fact);
        self.line(fact);
    }

    /// Reports a fact to programs only.
    pub fn object(&self, fact: &impl Fact) {
        if let Some(json) = &self.json {
            json.write(FactLine::new(fact).line());
        }
    }

    /// Reports a line to people only.
    pub fn line(&self, line: &impl Display) {
        if let Some(lines) = &self.lines {
            lines.write(format!("{line}\n").into_bytes());
        }
    }

    /// Waits briefly until readers have everything reported so far.
    ///
    /// # Errors
    /// Returns an error if some of it could not be written, for example because the disk is full. A pipe that
    /// its reader closed is no error.
    pub fn settle(&self) -> Result<(), ProgramError> {
        self.each(|queue| queue.settle(PATIENCE))
    }

    /// Ends the report, as the last act of a program: like [`settle`](Self::settle), and accepts nothing
    /// more.
    ///
    /// # Errors
    /// As for [`settle`](Self::settle).
    pub fn finish(&self) -> Result<(), ProgramError> {
        self.each(|queue| queue.finish(PATIENCE))
    }

    fn each(&self, end: impl Fn(&Queue) -> Option<String>) -> Result<(), ProgramError> {
        let sinks = [&self.json, &self.lines].into_iter().flatten();
        // Settle all of them, even if one fails.
        let failed: Vec<_> = sinks
            .filter_map(|sink| {
                let failed = match &sink.way {
                    Way::Here(here) => lock(here).failed.clone(),
                    Way::Queued(queue) => end(queue),
                };
                failed.map(|error| ProgramError::failed(&sink.name, lines_are_missing(&error)))
            })
            .collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}

/// How long to wait for readers.
const PATIENCE: Duration = Duration::from_secs(1);

/// Name of the lines for people in errors about writing them.
const LINES: &str = "the lines about connections";

fn lines_are_missing(error: &str) -> String {
    format!("{error}; not all facts were written")
}

impl Sink {
    fn here(name: String, to: Box<dyn Write + Send>) -> Self {
        Self {
            name,
            way: Way::Here(Mutex::new(DirectOutput { to: LineWriter::new(to), failed: None })),
        }
    }

    fn queued(name: String, to: File, missed: fn(u64) -> Vec<u8>) -> Result<Self, ProgramError> {
        let queue = Queue::new(name.clone(), to, missed);
        let queue = queue.map_err(|error| ProgramError::failed(&name, error))?;
        Ok(Self { name, way: Way::Queued(queue) })
    }

    fn write(&self, line: Vec<u8>) {
        match &self.way {
            Way::Here(here) => {
                let mut here = lock(here);
                match here.to.write(&line) {
                    Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                        here.failed.get_or_insert(error.to_string());
                    }
                    _ => (),
                }
            }
            Way::Queued(queue) => queue.push(line),
        }
    }
}

/// Writes a text to standard output. A reader that has seen enough is no failure.
///
/// # Errors
/// If it can't be written.
pub fn print(text: impl AsRef<[u8]>) -> Result<(), ProgramError> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(ProgramError::failed("standard output", error))
        }
        _ => Ok(()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the file for objects; returns it with its name.
fn open(json: Option<SettingFile<'_>>) -> Result<Option<(String, File)>, ProgramError> {
    let Some(file) = json else { return Ok(None) };
    let opened = if is_standard_output(file) {
        standard_output()
    } else {
        OpenOptions::new().append(true).create(true).open(file.path)
    };
    let opened = opened.map_err(|error| ProgramError::output(file, &error))?;
    Ok(Some((format!("{} {}", file.setting, file.path.display()), opened)))
}

fn has_lines(json: Option<SettingFile<'_>>, quiet: bool) -> bool {
    !quiet && !json.is_some_and(is_standard_output)
}

fn is_standard_output(file: SettingFile<'_>) -> bool {
    file.path == Path::new("-")
}

/// Replaces objects that were dropped because the reader was too slow.
#[derive(Serialize)]
struct MissedLines {
    count: u64,
}

impl Fact for MissedLines {
    const EVENT: &'static str = "missed";
}

fn missed_objects(count: u64) -> Vec<u8> {
    FactLine::new(&MissedLines { count }).line()
}

fn missed_lines(count: u64) -> Vec<u8> {
    format!("{count} lines are missing here: the reader was too slow\n").into_bytes()
}

/// Warns on standard error at once, because the program's end may be far off.
fn warn(name: &str, error: &io::Error) {
    let _ = writeln!(io::stderr(), "warning: {name}: {error}; facts are missing from now on");
}
