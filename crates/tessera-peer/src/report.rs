//! Where facts go: lines for people, objects for programs.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::error::PeerError;

/// Writes facts. Whoever stopped reading them doesn't stop the connections.
pub(crate) struct Report {
    json: Option<Mutex<Box<dyn Write + Send>>>,
    /// Lines for people.
    lines: Option<Mutex<Box<dyn Write + Send>>>,
}

impl Report {
    /// With `json` on standard output there are no lines for people there; `quiet` leaves them out
    /// everywhere.
    pub(crate) fn new(
        json: Option<&Path>,
        quiet: bool,
        lines: impl Write + Send + 'static,
    ) -> Result<Self, PeerError> {
        let is_stdout = json.is_some_and(|path| path == "-");
        let json: Option<Box<dyn Write + Send>> = match json {
            None => None,
            Some(_) if is_stdout => Some(Box::new(io::stdout())),
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Some(Box::new(file.map_err(|error| PeerError::file(path, "--json", &error))?))
            }
        };
        let lines: Option<Box<dyn Write + Send>> =
            if quiet || is_stdout { None } else { Some(Box::new(lines)) };
        Ok(Self { json: json.map(Mutex::new), lines: lines.map(Mutex::new) })
    }

    /// Tells a fact both ways.
    pub(crate) fn tell(&self, fact: &(impl Serialize + Display)) {
        self.object(fact);
        self.line(fact);
    }

    pub(crate) fn object(&self, object: &impl Serialize) {
        let Some(json) = &self.json else { return };
        if let Ok(mut line) = serde_json::to_vec(object) {
            line.push(b'\n');
            write(json, &line);
        }
    }

    pub(crate) fn line(&self, line: &impl Display) {
        if let Some(lines) = &self.lines {
            write(lines, format!("{line}\n").as_bytes());
        }
    }
}

fn write(to: &Mutex<Box<dyn Write + Send>>, line: &[u8]) {
    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = to.write_all(line).and_then(|()| to.flush());
}
