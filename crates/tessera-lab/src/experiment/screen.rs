//! The output for people while an experiment runs.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::options::Options;
use super::report::Destination;
use crate::error::LabError;

/// Where the table and the progress bar go.
pub(crate) struct Screen {
    /// Standard output is for the report.
    on_stderr: bool,
    bar: ProgressBar,
    /// When the last line of progress was written, if standard error is not a terminal.
    reported: Option<Cell<Instant>>,
}

impl Screen {
    pub(crate) fn new(options: &Options) -> Self {
        let on_stderr = [&options.json, &options.page]
            .into_iter()
            .flatten()
            .any(|destination| *destination == Destination::StandardOutput);
        let reported = (!io::stderr().is_terminal()).then(|| Cell::new(Instant::now()));
        Self { on_stderr, bar: ProgressBar::hidden(), reported }
    }

    /// Starts the progress bar for this many repetitions. Without a terminal a line now and then reports progress.
    pub(crate) fn expect(&mut self, repetitions: usize) {
        self.bar = ProgressBar::new(repetitions as u64);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }

    pub(crate) fn now(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    pub(crate) fn advance(&self) {
        self.bar.inc(1);
        if let Some(line) = self.progress(Instant::now()) {
            // The experiment goes on without anyone who reads this.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Returns the line of progress that is due now, if any.
    fn progress(&self, now: Instant) -> Option<String> {
        let reported = self.reported.as_ref()?;
        if now - reported.get() < BETWEEN_LINES {
            return None;
        }
        reported.set(now);
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        Some(format!("{done} of {all} repetitions: {}", self.bar.message()))
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), LabError> {
        let written = self.bar.suspend(|| {
            if self.on_stderr {
                writeln!(io::stderr(), "{text}")
            } else {
                let mut out = io::stdout().lock();
                writeln!(out, "{text}").and_then(|()| out.flush())
            }
        });
        written.map_err(LabError::system("writing the table"))
    }
}

/// The time between two lines of progress.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_a_line_now_and_then_reports_progress() {
        let start = Instant::now();
        let reported = Some(Cell::new(start));
        let mut screen = Screen { on_stderr: false, bar: ProgressBar::hidden(), reported };
        screen.expect(35);
        screen.now("psk");
        screen.bar.inc(2);
        let at = |seconds| screen.progress(start + Duration::from_secs(seconds));
        assert_eq!(at(9), None);
        assert_eq!(at(10).unwrap(), "2 of 35 repetitions: psk");
        assert_eq!(at(19), None);
        assert!(at(20).is_some());
    }
}
