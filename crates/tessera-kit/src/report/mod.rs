//! Where facts go: lines for people, objects for programs.

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

/// Writes facts, one object or line each; the file `-` is standard output. A reader that stopped reading
/// doesn't stop the connections; where facts can't be written, [`finish`](Self::finish) reports it.
pub struct Report {
    json: Option<Sink>,
    /// Lines for people.
    lines: Option<Sink>,
}

/// Where lines go, with its name.
struct Sink {
    name: String,
    way: Way,
}

enum Way {
    /// A client waits for its reader: it has no other connections.
    Here(Mutex<Here>),
    /// A server waits for nobody.
    Queued(Queue),
}

struct Here {
    to: LineWriter<Box<dyn Write + Send>>,
    failed: Option<String>,
}

impl Report {
    /// A client's, which waits for its reader. With `json` on standard output there are no lines for people
    /// there; `quiet` leaves them out everywhere.
    ///
    /// # Errors
    /// If the file can't be written.
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

    /// A server's, with lines for people on standard output, as for a client's. It never
    /// waits: up to 1 MiB waits for each reader, and a line says how many were left out.
    ///
    /// # Errors
    /// If the file can't be written, or there can be no thread.
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

    /// Tells a fact both ways.
    pub fn tell(&self, fact: &(impl Fact + Display)) {
        self.object(fact);
        self.line(fact);
    }

    /// Tells a fact to programs alone.
    pub fn object(&self, fact: &impl Fact) {
        if let Some(json) = &self.json {
            json.write(FactLine::new(fact).line());
        }
    }

    /// Tells a line to people alone.
    pub fn line(&self, line: &impl Display) {
        if let Some(lines) = &self.lines {
            lines.write(format!("{line}\n").into_bytes());
        }
    }

    /// Gives readers a moment for what they were told until now.
    ///
    /// # Errors
    /// If some of it could not be written, for want of room on the disk for example. A pipe that
    /// its reader closed is no error.
    pub fn settle(&self) -> Result<(), ProgramError> {
        self.each(|queue| queue.settle(PATIENCE))
    }

    /// The last that a program does: as [`settle`](Self::settle), and takes no more.
    ///
    /// # Errors
    /// As for [`settle`](Self::settle).
    pub fn finish(&self) -> Result<(), ProgramError> {
        self.each(|queue| queue.finish(PATIENCE))
    }

    fn each(&self, end: impl Fn(&Queue) -> Option<String>) -> Result<(), ProgramError> {
        let sinks = [&self.json, &self.lines].into_iter().flatten();
        // All of them, whatever becomes of one.
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

/// How long it waits for readers.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines for people, where they can't be written.
const LINES: &str = "the lines about connections";

fn lines_are_missing(error: &str) -> String {
    format!("{error}; not all facts were written")
}

impl Sink {
    fn here(name: String, to: Box<dyn Write + Send>) -> Self {
        Self { name, way: Way::Here(Mutex::new(Here { to: LineWriter::new(to), failed: None })) }
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file for objects, with its name.
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

/// In place of objects that nobody read in time.
#[derive(Serialize)]
struct Missed {
    count: u64,
}

impl Fact for Missed {
    const EVENT: &'static str = "missed";
}

fn missed_objects(count: u64) -> Vec<u8> {
    FactLine::new(&Missed { count }).line()
}

fn missed_lines(count: u64) -> Vec<u8> {
    format!("{count} lines are missing here: they were not taken in time\n").into_bytes()
}

/// A warning on standard error, at once: the end may be far.
fn warn(name: &str, error: &io::Error) {
    let _ = writeln!(io::stderr(), "warning: {name}: {error}; facts are missing from now on");
}
