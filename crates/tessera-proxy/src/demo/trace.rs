//! The output of a demonstration, for people and for programs.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use tessera_kit::report::{Fact, Report};
use tessera_kit::{ProgramError, SettingFile};

/// Prints what happens, when it happens.
pub struct Trace {
    report: Report,
    began: Instant,
}

/// An actor of a demonstration.
pub trait Actor: Copy + Serialize {
    /// The length of the longest name, in characters.
    const WIDTH: usize;

    /// Returns the name for people.
    fn name(self) -> &'static str;
}

/// The result of a demonstration.
pub trait Outcome: Fact + Display {
    /// Whether it is as it should be.
    fn is_good(&self) -> bool;
}

impl Trace {
    /// Prints to standard output: a line each, or an object each.
    pub(super) fn begin(json: bool) -> Result<Self, ProgramError> {
        let file = SettingFile { setting: "--json", path: Path::new("-") };
        let report = Report::of_client(json.then_some(file), false, io::stdout())?;
        Ok(Self { report, began: Instant::now() })
    }

    /// Prints an explanation for people, before or between steps.
    pub fn explain(&self, text: &str) {
        self.report.line(&text);
    }

    /// Prints that an actor does something now.
    pub fn step(&self, actor: impl Actor, what: impl Into<String>) {
        self.report.print(&Step { at: self.now(), actor, what: what.into() });
    }

    /// Prints any other fact.
    pub fn print(&self, fact: &(impl Fact + Display)) {
        self.report.print(fact);
    }

    /// Returns the time since the beginning, in milliseconds.
    pub fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn end(&self, outcome: &impl Outcome) -> Result<(), ProgramError> {
        self.report.print(outcome);
        self.report.finish()
    }
}

/// One line of the trace.
#[derive(Serialize)]
struct Step<A> {
    at: u64,
    actor: A,
    what: String,
}

impl<A: Actor> Fact for Step<A> {
    const EVENT: &'static str = "step";
}

impl<A: Actor> Display for Step<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, actor, what } = self;
        // Columns by actor: the client's on the left.
        write!(f, "{at:>6} ms  {:<1$}  {what}", actor.name(), A::WIDTH)
    }
}
