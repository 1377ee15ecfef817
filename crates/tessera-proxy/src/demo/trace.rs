//! What a demonstration tells, to people and to programs.

use std::fmt::{self, Display};
use std::io;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use tessera_kit::report::{Fact, Report};
use tessera_kit::{ProgramError, SettingFile};

/// Tells what happens, when it happens.
pub struct Trace {
    report: Report,
    began: Instant,
}

/// Who does something in a demonstration.
pub trait Actor: Copy + Serialize {
    /// How many characters the longest name has.
    const WIDTH: usize;

    /// As people read it.
    fn name(self) -> &'static str;
}

/// What a demonstration came to.
pub trait Outcome: Fact + Display {
    /// Whether that is what it should.
    fn is_good(&self) -> bool;
}

impl Trace {
    /// On standard output: a line each, or an object each.
    pub(super) fn begin(json: bool) -> Result<Self, ProgramError> {
        let file = SettingFile { setting: "--json", path: Path::new("-") };
        let report = Report::of_client(json.then_some(file), false, io::stdout())?;
        Ok(Self { report, began: Instant::now() })
    }

    /// Something that people want to know before the next steps, or between them.
    pub fn say(&self, text: &str) {
        self.report.line(&text);
    }

    /// Somebody does something, now.
    pub fn step(&self, actor: impl Actor, what: impl Into<String>) {
        self.report.tell(&Step { at: self.now(), actor, what: what.into() });
    }

    /// Anything else that happens.
    pub fn tell(&self, fact: &(impl Fact + Display)) {
        self.report.tell(fact);
    }

    /// Since the beginning, in milliseconds.
    pub fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn end(&self, outcome: &impl Outcome) -> Result<(), ProgramError> {
        self.report.tell(outcome);
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
        // Columns: what is on the left comes from the client.
        write!(f, "{at:>6} ms  {:<1$}  {what}", actor.name(), A::WIDTH)
    }
}
