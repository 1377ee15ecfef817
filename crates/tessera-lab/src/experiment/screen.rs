//! The output for people while an experiment runs.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};

use super::options::Options;
use super::report::Destination;
use crate::error::LabError;

/// Where the table and the progress bar go.
pub(crate) struct Screen {
    /// Standard output is for the report.
    on_stderr: bool,
    bar: ProgressBar,
}

impl Screen {
    pub(crate) fn new(options: &Options) -> Self {
        let on_stderr = [&options.json, &options.page]
            .into_iter()
            .flatten()
            .any(|destination| *destination == Destination::StandardOutput);
        Self { on_stderr, bar: ProgressBar::hidden() }
    }

    /// Starts the progress bar for this many repetitions. It shows only on a terminal.
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
